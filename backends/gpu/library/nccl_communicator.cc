#include "backends/gpu/library/nccl_communicator.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include "lib/eval/stuck_report.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using StepKind = CollectiveStep::Kind;
using Clock = std::chrono::steady_clock;

// So long ranks wait for each other to give a communicator back.
constexpr std::chrono::seconds kLongestLeave{10};

// Looks often at first, then now and then.
class Pace {
 public:
  void Rest() {
    constexpr int kLooks = 256;
    if (++looks_ < kLooks) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  int looks_ = 0;
};

void* Memory(DevicePtr address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));  // NOLINT: of the device
}

// The address of a step's operand and result; null where it has none.
void* OperandOf(const CollectiveStep& step, const NcclCommunicator::Arrays& arrays) {
  if (step.operand < 0) return nullptr;
  return Memory(arrays.operands[static_cast<size_t>(step.operand)] +
                static_cast<DevicePtr>(step.from));
}
void* ResultOf(const CollectiveStep& step, const NcclCommunicator::Arrays& arrays) {
  if (step.result < 0) return nullptr;
  return Memory(arrays.results[static_cast<size_t>(step.result)] + static_cast<DevicePtr>(step.to));
}

absl::Status RunOwn(const CollectivePlan& plan, const NcclCommunicator::Arrays& arrays,
                    Stream& stream) {
  for (const CollectiveStep& step : plan.own) {
    const auto to = reinterpret_cast<DevicePtr>(ResultOf(step, arrays));
    if (step.kind == StepKind::kZero) {
      RETURN_IF_ERROR(stream.Fill(to, 0, step.count));
      continue;
    }
    const auto from = reinterpret_cast<DevicePtr>(OperandOf(step, arrays));
    if (from != to) RETURN_IF_ERROR(stream.CopyOnDevice(to, from, step.count));
  }
  return absl::OkStatus();
}

// An operand of integers, on the host.
absl::StatusOr<Literal> ReadOperand(const Instruction& collective, int k,
                                    const NcclCommunicator::Arrays& arrays, Stream& stream) {
  Literal value(collective.operand(k)->shape());
  RETURN_IF_ERROR(stream.CopyToHost(value.mutable_data(), arrays.operands[static_cast<size_t>(k)],
                                    value.byte_size()));
  RETURN_IF_ERROR(stream.Synchronize());
  return value;
}

std::vector<int64_t> Integers(const Literal& literal) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetInt(i));
  return values;
}

// The operands of ragged-all-to-all that say what a device sends, behind the tickets.
std::vector<RaggedSlices> SlicesIn(const std::vector<std::vector<Literal>>& brought) {
  std::vector<RaggedSlices> slices;
  for (const std::vector<Literal>& member : brought)
    slices.push_back({Integers(member[1]), Integers(member[2]), Integers(member[3])});
  return slices;
}

template <class T>
Literal AsBytes(const T& value) {
  Literal bytes(Shape::Array(ElementType::kU8, {static_cast<int64_t>(sizeof value)}));
  std::memcpy(bytes.mutable_data(), &value, sizeof value);
  return bytes;
}

}  // namespace

NcclCommunicator::~NcclCommunicator() {
  // Ranks wait for each other, those of one process, too: each has a thread.
  std::vector<std::thread> threads;
  for (auto& [device, cliques] : joined_) {
    threads.emplace_back([this, &own = cliques] {
      for (Clique* const clique : own) Leave(*clique);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void NcclCommunicator::Leave(Clique& clique) const {
  if (clique.comm == nullptr) return;  // aborted
  const Clock::time_point end = Clock::now() + kLongestLeave;
  int result = nccl_->ncclCommFinalize(clique.comm);
  for (Pace pace; result == kNcclSuccess || result == kNcclInProgress; pace.Rest()) {
    int state = kNcclSuccess;
    result = nccl_->ncclCommGetAsyncError(clique.comm, &state);
    if (result == kNcclSuccess && state == kNcclSuccess) {
      nccl_->ncclCommDestroy(clique.comm);
      return;
    }
    if (state != kNcclInProgress || Clock::now() > end) break;
  }
  nccl_->ncclCommAbort(clique.comm);
}

NcclCommunicator::Clique& NcclCommunicator::CliqueOf(int64_t device,
                                                     const std::vector<int64_t>& group) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Clique>& clique = cliques_[{device, group}];
  if (clique == nullptr) {
    clique = std::make_unique<Clique>();
    clique->rank = static_cast<int>(std::find(group.begin(), group.end(), device) - group.begin());
  }
  return *clique;
}

NcclCommunicator::Ticket NcclCommunicator::TicketOf(const Member& member,
                                                    const Clique& clique) const {
  Ticket ticket;
  ticket.state = clique.state;
  if (nccl_ == nullptr || member.gpu.size() != ticket.gpu.size()) {
    ticket.state = Clique::State::kLost;
    return ticket;
  }
  std::copy(member.gpu.begin(), member.gpu.end(), ticket.gpu.begin());
  const bool gives_id = clique.state == Clique::State::kNew && clique.rank == 0;
  if (gives_id && nccl_->ncclGetUniqueId(&ticket.id) != kNcclSuccess)
    ticket.state = Clique::State::kLost;
  return ticket;
}

absl::StatusOr<NcclCommunicator::Brought> NcclCommunicator::Gather(const Work& work,
                                                                   std::vector<Literal> own) {
  Brought brought;
  RETURN_IF_ERROR(work.member.host
                      .Meet(work.member.device, work.collective, work.group, std::move(own),
                            [&](const Brought& all, size_t) -> absl::StatusOr<Literal> {
                              brought = all;
                              return Literal();
                            })
                      .status());
  return brought;
}

std::vector<NcclCommunicator::Ticket> NcclCommunicator::TicketsIn(const Brought& brought) {
  std::vector<Ticket> tickets(brought.size());
  for (size_t i = 0; i < brought.size(); ++i)
    std::memcpy(&tickets[i], brought[i][0].data(), sizeof(Ticket));
  return tickets;
}

absl::StatusOr<bool> NcclCommunicator::Meet(const Member& member, const Instruction& collective,
                                            const std::vector<int64_t>& group,
                                            const Arrays& arrays) {
  using State = Clique::State;
  const bool is_ragged = collective.opcode() == Opcode::kRaggedAllToAll;
  const auto members = std::ssize(group);
  Clique& clique = CliqueOf(member.device, group);
  if (members < 2 || clique.state == State::kOnHost) return false;
  const Work work{member, collective, group, clique};
  std::optional<CollectivePlan> plan = CollectivePlan();
  if (!is_ragged) plan = PlanCollective(collective, members, clique.rank);
  if (!plan) return false;

  const Ticket ticket = TicketOf(member, clique);
  clique.state = ticket.state;
  std::vector<Literal> own = {AsBytes(ticket)};
  for (int k = 2; is_ragged && k < 5; ++k) {
    ASSIGN_OR_RETURN(own.emplace_back(), ReadOperand(collective, k, arrays, member.stream));
  }
  ASSIGN_OR_RETURN(const Brought brought, Gather(work, std::move(own)));
  const std::vector<Ticket> tickets = TicketsIn(brought);
  std::set<std::array<char, 16>> gpus;
  for (const Ticket& other : tickets) gpus.insert(other.gpu);
  const auto all_are = [&](State state) {
    return std::all_of(tickets.begin(), tickets.end(),
                       [&](const Ticket& other) { return other.state == state; });
  };
  const bool is_new = all_are(State::kNew);
  if (!(is_new && std::ssize(gpus) == members) && !all_are(State::kJoined)) {
    if (clique.comm != nullptr) Abort(work, absl::OkStatus()).IgnoreError();
    clique.state = State::kOnHost;
    return false;
  }
  if (is_new) RETURN_IF_ERROR(Join(work, tickets[0].id));
  if (is_ragged) {
    ASSIGN_OR_RETURN(plan, PlanRagged(collective, SlicesIn(brought), clique.rank));
  }
  RETURN_IF_ERROR(Run(work, *plan, arrays));
  return true;
}

absl::Status NcclCommunicator::Join(const Work& work, NcclUniqueId id) {
  NcclConfig config;
  const int result = nccl_->ncclCommInitRankConfig(
      &work.clique.comm, static_cast<int>(work.group.size()), id, work.clique.rank, &config);
  if (absl::Status status = Check(work, result, "ncclCommInitRankConfig"); !status.ok())
    return Abort(work, std::move(status));
  RETURN_IF_ERROR(Wait(work, [] { return true; }));
  work.clique.state = Clique::State::kJoined;
  const std::lock_guard lock(mutex_);
  joined_[work.member.device].push_back(&work.clique);
  return absl::OkStatus();
}

absl::Status NcclCommunicator::Run(const Work& work, const CollectivePlan& plan,
                                   const Arrays& arrays) {
  RETURN_IF_ERROR(RunOwn(plan, arrays, work.member.stream));
  absl::Status status = Check(work, nccl_->ncclGroupStart(), "ncclGroupStart");
  if (!status.ok()) return Abort(work, std::move(status));
  for (const CollectiveStep& step : plan.calls) {
    status = Call(work, step, arrays);
    if (!status.ok()) break;
  }
  status.Update(Check(work, nccl_->ncclGroupEnd(), "ncclGroupEnd"));  // a group ends in any case
  if (!status.ok()) return Abort(work, std::move(status));
  return Wait(work, [&] { return work.member.stream.IsDone(); });
}

absl::Status NcclCommunicator::Call(const Work& work, const CollectiveStep& step,
                                    const Arrays& arrays) const {
  const void* const from = OperandOf(step, arrays);
  void* const to = ResultOf(step, arrays);
  const auto count = static_cast<size_t>(step.count);
  const int type = static_cast<int>(step.type), reduction = static_cast<int>(step.reduction);
  void* const comm = work.clique.comm;
  void* const stream = work.member.stream.native_handle();
  const Nccl& nccl = *nccl_;
  switch (step.kind) {
    case StepKind::kAllReduce:
      return Check(work, nccl.ncclAllReduce(from, to, count, type, reduction, comm, stream),
                   "ncclAllReduce");
    case StepKind::kReduceScatter:
      return Check(work, nccl.ncclReduceScatter(from, to, count, type, reduction, comm, stream),
                   "ncclReduceScatter");
    case StepKind::kAllGather:
      return Check(work, nccl.ncclAllGather(from, to, count, type, comm, stream), "ncclAllGather");
    case StepKind::kBroadcast:
      return Check(work, nccl.ncclBroadcast(from, to, count, type, step.peer, comm, stream),
                   "ncclBroadcast");
    case StepKind::kSend:
      return Check(work, nccl.ncclSend(from, count, type, step.peer, comm, stream), "ncclSend");
    case StepKind::kReceive:
      return Check(work, nccl.ncclRecv(to, count, type, step.peer, comm, stream), "ncclRecv");
    case StepKind::kCopy:
    case StepKind::kZero: break;
  }
  return Internal("a copy is no call of NCCL");
}

absl::Status NcclCommunicator::Wait(const Work& work,
                                    absl::FunctionRef<absl::StatusOr<bool>()> is_done) {
  const Clock::time_point begin = Clock::now();
  for (Pace pace;; pace.Rest()) {
    int state = kNcclSuccess;
    absl::Status status = Check(work, nccl_->ncclCommGetAsyncError(work.clique.comm, &state),
                                "ncclCommGetAsyncError");
    status.Update(Check(work, state, "NCCL's work"));
    if (status.ok() && state == kNcclSuccess) {
      const absl::StatusOr<bool> done = is_done();
      if (done.ok() && *done) return absl::OkStatus();
      status.Update(done.status());
    }
    status.Update(work.member.host.Failure());
    if (status.ok() && Clock::now() - begin > longest_wait_) {
      std::vector<int64_t> others = work.group;
      others.erase(others.begin() + work.clique.rank);
      status = StuckReport(
          fmt::format("NCCL has not finished after {} seconds: ", longest_wait_.count()),
          {WaitsAt(work.member.device, work.collective, std::move(others))}, {}, {});
    }
    if (!status.ok()) return Abort(work, std::move(status));
  }
}

absl::Status NcclCommunicator::Check(const Work& work, int result, const char* call) const {
  const absl::Status status = nccl_->Check(result, call, work.clique.comm);
  if (status.ok()) return status;
  return MakeError(status.code(), work.collective.loc(),
                   fmt::format("`{}` on device {}: {}", work.collective.name(), work.member.device,
                               std::string(status.message())));
}

absl::Status NcclCommunicator::Abort(const Work& work, absl::Status status) {
  if (work.clique.comm != nullptr) nccl_->ncclCommAbort(work.clique.comm);
  work.clique.comm = nullptr;
  work.clique.state = Clique::State::kLost;
  return status;
}

}  // namespace hlo::gpu
