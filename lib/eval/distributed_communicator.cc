#include "lib/eval/distributed_communicator.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/ir/computation.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

// Between two looks at how this process stands.
constexpr std::chrono::milliseconds kBetweenWatches(100);
// So long rank 0 may take to account for a wait that took too long.
constexpr std::chrono::seconds kForTheReport(10);

// The same in all processes.
std::string NameOf(const Instruction& instruction) {
  return fmt::format("{}/{}", instruction.parent()->name(), instruction.name());
}

}  // namespace

DistributedCommunicator::DistributedCommunicator(const DeviceMesh& mesh, Transport& transport,
                                                 std::chrono::duration<double> longest_wait)
    : mesh_(mesh), transport_(transport), longest_wait_(longest_wait) {
  sent_.resize(static_cast<size_t>(transport.size()));
  states_.resize(sent_.size());
  listener_ = std::thread([this] { ListenOn(); });
}

DistributedCommunicator::~DistributedCommunicator() {
  is_closing_ = true;
  listener_.join();
  const Lock lock(mutex_);
  WireWriter message = MessageOf(MessageKind::kState);
  RankState state = OwnState();
  state.has_ended = true;
  message.Number(transport_.rank());
  state.WriteTo(message);
  SendToOthers(std::move(message).Finish());
}

int DistributedCommunicator::RankOf(int64_t device) const {
  // Blocks whose sizes differ by one at most.
  for (int rank = 0;; ++rank) {
    if (device < mesh_.devices() * (rank + 1) / transport_.size()) return rank;
  }
}

std::vector<int64_t> DistributedCommunicator::own_devices() const {
  std::vector<int64_t> own;
  for (int64_t device = 0; device < mesh_.devices(); ++device) {
    if (RankOf(device) == transport_.rank()) own.push_back(device);
  }
  return own;
}

void DistributedCommunicator::Restart() {
  const Lock lock(mutex_);
  ++run_;
  meetings_.clear();
  waits_.clear();
  more_threads_.clear();
  std::fill(sent_.begin(), sent_.end(), 0);
  // Others may be in this run already: what they have sent stays.
  std::erase_if(open_, [this](const auto& item) { return item.first.run < run_; });
  std::erase_if(messages_, [this](const auto& item) { return item.first.run < run_; });
  std::erase_if(left_, [this](const auto& item) { return item.first < run_; });
  std::erase_if(received_, [this](const auto& item) { return item.first < run_; });
  std::erase_if(results_, [this](const auto& item) { return item.first.first < run_; });
}

absl::Status DistributedCommunicator::Failure() const {
  if (!has_failed_.load(std::memory_order_acquire)) return absl::OkStatus();
  const Lock lock(mutex_);
  return failure_;
}

WireWriter DistributedCommunicator::MessageOf(MessageKind kind) {
  WireWriter message;
  message.Number(static_cast<int64_t>(kind));
  return message;
}

void DistributedCommunicator::SendToOthers(const WireBytes& message) {
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank != transport_.rank()) transport_.Send(rank, message);
  }
}

void DistributedCommunicator::SendCounted(int rank, WireBytes message) {
  ++sent_[static_cast<size_t>(rank)];
  transport_.Send(rank, std::move(message));
}

void DistributedCommunicator::AddThreads(int64_t device, int count) {
  const Lock lock(mutex_);
  more_threads_[device] += count;
}

absl::StatusOr<Literal> DistributedCommunicator::Meet(int64_t device,
                                                      const Instruction& instruction,
                                                      const std::vector<int64_t>& group,
                                                      std::vector<Literal> operands,
                                                      const Compute& compute) {
  const auto place = std::find(group.begin(), group.end(), device);
  RET_CHECK(place != group.end(), "device {} is in no group of `{}`", device, instruction.name());
  const auto self = static_cast<size_t>(place - group.begin());
  std::vector<std::vector<Literal>> all(group.size());
  {
    Lock lock(mutex_);
    if (!failure_.ok()) return failure_;
    const std::string name = NameOf(instruction);
    const Key key{run_, name, group.front(), meetings_[{device, name}]++};
    std::set<int> ranks;
    for (const int64_t member : group) ranks.insert(RankOf(member));
    ranks.erase(transport_.rank());
    if (!ranks.empty()) {
      WireWriter message = MessageOf(MessageKind::kMeet);
      message.Number(key.run);
      message.Number(transport_.rank());
      message.Text(key.instruction);
      message.Number(key.first);
      message.Number(key.number);
      message.Number(static_cast<int64_t>(self));
      message.Number(std::ssize(operands));
      for (const Literal& operand : operands) message.Value(operand);
      const WireBytes bytes = std::move(message).Finish();
      for (const int rank : ranks) SendCounted(rank, bytes);
    }
    std::shared_ptr<Meeting>& open = open_[key];
    if (open == nullptr) open = std::make_shared<Meeting>();
    const std::shared_ptr<Meeting> meeting = open;
    meeting->operands[self] = std::move(operands);
    changed_.notify_all();
    const auto is_over = [&] { return meeting->operands.size() == group.size(); };
    const auto missing = [&] {
      std::vector<int64_t> members;
      for (size_t i = 0; i < group.size(); ++i) {
        if (!meeting->operands.contains(i)) members.push_back(group[i]);
      }
      return members;
    };
    RETURN_IF_ERROR(WaitUntil(lock, {device, &instruction, is_over, missing}));
    open_.erase(key);
    for (const auto& [i, values] : meeting->operands) all[i] = values;
  }
  return compute(all, self);
}

absl::Status DistributedCommunicator::Send(const Route& route, Literal value) {
  const Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  const int rank = RankOf(route.target);
  if (rank == transport_.rank()) {
    messages_[{run_, route}].push_back(std::move(value));
    changed_.notify_all();
    return absl::OkStatus();
  }
  WireWriter message = MessageOf(MessageKind::kSend);
  message.Number(run_);
  message.Number(transport_.rank());
  for (const int64_t number : {route.channel, route.source, route.target}) message.Number(number);
  message.Value(value);
  SendCounted(rank, std::move(message).Finish());
  return absl::OkStatus();
}

absl::StatusOr<Literal> DistributedCommunicator::Receive(const Route& route,
                                                         const Instruction& instruction) {
  Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  std::deque<Literal>& messages = messages_[{run_, route}];
  const auto is_over = [&] { return !messages.empty(); };
  const auto missing = [&] { return std::vector<int64_t>{route.source}; };
  RETURN_IF_ERROR(WaitUntil(lock, {route.target, &instruction, is_over, missing}));
  Literal value = std::move(messages.front());
  messages.pop_front();
  return value;
}

absl::Status DistributedCommunicator::WaitUntil(Lock& lock, const Wait& wait) {
  const auto after = [](std::chrono::duration<double> seconds) {
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds);
  };
  auto end = after(longest_wait_);
  const int64_t number = next_wait_++;
  waits_.emplace(number, wait);
  bool rank_0_knows = transport_.rank() == 0;
  while (!wait.is_over() && failure_.ok()) {
    const std::vector<int64_t> missing = wait.missing();
    if (std::any_of(missing.begin(), missing.end(),
                    [&](int64_t other) { return HasLeft(other); })) {
      Fail(Report("the devices cannot go on: ", run_), /*from_here=*/true);
    } else if (changed_.wait_until(lock, end) == std::cv_status::timeout && !wait.is_over() &&
               failure_.ok()) {
      if (rank_0_knows) {
        Fail(OverdueReport(run_), /*from_here=*/true);
        break;
      }
      TellState();
      WireWriter message = MessageOf(MessageKind::kOverdue);
      message.Number(run_);
      transport_.Send(0, std::move(message).Finish());
      rank_0_knows = true;
      end = after(kForTheReport);
    }
  }
  waits_.erase(number);
  return wait.is_over() ? absl::OkStatus() : failure_;
}

void DistributedCommunicator::Fail(absl::Status status, bool from_here) {
  if (!failure_.ok()) return;
  if (from_here) {
    WireWriter message = MessageOf(MessageKind::kFail);
    message.Error(status);
    SendToOthers(std::move(message).Finish());
  }
  failure_ = std::move(status);
  has_failed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void DistributedCommunicator::Leave(int64_t device, absl::Status status) {
  const Lock lock(mutex_);
  if (!status.ok()) return Fail(std::move(status), /*from_here=*/true);
  left_.insert({run_, device});
  WireWriter message = MessageOf(MessageKind::kLeave);
  message.Number(run_);
  message.Number(device);
  SendToOthers(std::move(message).Finish());
  changed_.notify_all();
}

absl::StatusOr<std::vector<Literal>> DistributedCommunicator::Gather(
    const std::vector<Literal>& own) {
  const std::vector<int64_t> devices = own_devices();
  RET_CHECK(own.size() == devices.size(), "{} results for {} devices", own.size(), devices.size());
  Lock lock(mutex_);
  for (size_t i = 0; i < own.size(); ++i) {
    WireWriter message = MessageOf(MessageKind::kResult);
    message.Number(run_);
    message.Number(devices[i]);
    message.Value(own[i]);
    SendToOthers(std::move(message).Finish());
    results_[{run_, devices[i]}] = own[i];
  }
  // Of the devices that have ended, or of all.
  const auto missing_ranks = [&](bool have_ended) {
    std::set<int64_t> ranks;
    for (int64_t device = 0; device < mesh_.devices(); ++device) {
      const int rank = RankOf(device);
      if (!results_.contains({run_, device}) &&
          (!have_ended || states_[static_cast<size_t>(rank)].has_ended))
        ranks.insert(rank);
    }
    return std::vector<int64_t>(ranks.begin(), ranks.end());
  };
  const auto is_over = [&] {
    return missing_ranks(false).empty() || !missing_ranks(true).empty() || !failure_.ok();
  };
  changed_.wait_for(lock, longest_wait_, is_over);
  if (const std::vector<int64_t> ended = missing_ranks(true); !ended.empty()) {
    Fail(Error("{} ended without results", NumberedList("rank", ended)), /*from_here=*/true);
  } else if (const std::vector<int64_t> late = missing_ranks(false); !late.empty()) {
    Fail(Error("after {} seconds there are no results of {}", longest_wait_.count(),
               NumberedList("rank", late)),
         /*from_here=*/true);
  }
  if (!missing_ranks(false).empty()) return failure_;
  std::vector<Literal> values;
  for (int64_t device = 0; device < mesh_.devices(); ++device)
    values.push_back(results_.at({run_, device}));
  return values;
}

void DistributedCommunicator::ListenOn() {
  auto next_watch = std::chrono::steady_clock::now() + kBetweenWatches;
  while (!is_closing_) {
    absl::StatusOr<std::optional<WireBytes>> message =
        transport_.Receive(std::chrono::milliseconds(20));
    absl::Status status = message.status();
    if (status.ok() && message->has_value()) status = Take(**message);
    const Lock lock(mutex_);
    if (status.ok()) {
      if (std::chrono::steady_clock::now() < next_watch) continue;
      Watch();
      next_watch = std::chrono::steady_clock::now() + kBetweenWatches;
      continue;
    }
    return Fail(std::move(status), /*from_here=*/true);
  }
}

absl::Status DistributedCommunicator::Take(const WireBytes& message) {
  WireReader reader(message);
  const auto kind = static_cast<MessageKind>(reader.Number());
  const Lock lock(mutex_);
  if (kind == MessageKind::kMeet) {
    Key key;
    key.run = reader.Number();
    CountReceived(key.run, reader.Number());
    key.instruction = reader.Text();
    key.first = reader.Number();
    key.number = reader.Number();
    const auto place = static_cast<size_t>(reader.Number());
    std::vector<Literal> operands;
    for (int64_t left = reader.Number(); left > 0; --left) operands.push_back(reader.Value());
    std::shared_ptr<Meeting>& open = open_[key];
    if (open == nullptr) open = std::make_shared<Meeting>();
    open->operands[place] = std::move(operands);
  } else if (kind == MessageKind::kSend) {
    RunRoute to;
    to.run = reader.Number();
    CountReceived(to.run, reader.Number());
    for (int64_t* number : {&to.route.channel, &to.route.source, &to.route.target})
      *number = reader.Number();
    messages_[to].push_back(reader.Value());
  } else if (kind == MessageKind::kLeave) {
    const int64_t run = reader.Number();
    left_.insert({run, reader.Number()});
  } else if (kind == MessageKind::kFail) {
    Fail(reader.Error(), /*from_here=*/false);
  } else if (kind == MessageKind::kState) {
    RETURN_IF_ERROR(TakeState(reader));
  } else if (kind == MessageKind::kOverdue) {
    Fail(OverdueReport(reader.Number()), /*from_here=*/true);
  } else {
    const int64_t run = reader.Number(), device = reader.Number();
    results_[{run, device}] = reader.Value();
  }
  changed_.notify_all();
  return reader.Finish();
}

}  // namespace hlo
