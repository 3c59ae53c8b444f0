#include "backends/gpu/library/recording_nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/types/float_types.h"

namespace hlo::gpu {
namespace {

RecordingNccl* current = nullptr;

// The calls of this thread since its outermost ncclGroupStart.
struct Pending {
  int depth = 0;
  std::vector<std::pair<void*, RecordingNccl::Call>> calls;
};
thread_local Pending pending;

constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};  // by NcclType
constexpr const char* kNames[] = {"all-reduce", "reduce-scatter", "all-gather",
                                  "broadcast",  "send",           "receive"};

size_t BytesOf(int type) { return kBytes[static_cast<size_t>(type)]; }

template <class T>
T Combined(NcclReduction reduction, T a, T b) {
  switch (reduction) {
    case NcclReduction::kSum: return static_cast<T>(a + b);
    case NcclReduction::kProduct: return static_cast<T>(a * b);
    case NcclReduction::kMax: return std::max(a, b);
    case NcclReduction::kMin: return std::min(a, b);
  }
  return a;
}

// `own` becomes own combined with `other`.
template <class T>
void Combine(NcclReduction reduction, std::byte* own, const std::byte* other, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, own + i * sizeof(T), sizeof(T));
    std::memcpy(&b, other + i * sizeof(T), sizeof(T));
    if constexpr (requires { a.ToFloat(); }) {
      a = T::FromFloat(Combined(reduction, a.ToFloat(), b.ToFloat()));
    } else {
      a = Combined(reduction, a, b);
    }
    std::memcpy(own + i * sizeof(T), &a, sizeof(T));
  }
}

using CombineArrays = void (*)(NcclReduction, std::byte*, const std::byte*, size_t);
// By NcclType. Integers wrap.
constexpr CombineArrays kCombine[] = {
    Combine<uint8_t>,  Combine<uint8_t>, Combine<uint32_t>, Combine<uint32_t>, Combine<uint64_t>,
    Combine<uint64_t>, Combine<F16>,     Combine<float>,    Combine<double>,   Combine<BF16>};
constexpr CombineArrays kCombineSigned[] = {Combine<int8_t>, nullptr, Combine<int32_t>, nullptr,
                                            Combine<int64_t>};

CombineArrays CombinerOf(int type, NcclReduction reduction) {
  const bool compares = reduction == NcclReduction::kMax || reduction == NcclReduction::kMin;
  const auto i = static_cast<size_t>(type);
  if (compares && i < std::size(kCombineSigned) && kCombineSigned[i] != nullptr)
    return kCombineSigned[i];
  return kCombine[i];
}

const std::byte* Bytes(const void* memory) { return static_cast<const std::byte*>(memory); }
std::byte* Bytes(void* memory) { return static_cast<std::byte*>(memory); }

bool IsOfPairs(const RecordingNccl::Call& call) {
  return call.kind == RecordingNccl::CallKind::kSend || call.kind == RecordingNccl::CallKind::kRecv;
}

}  // namespace

struct RecordingNccl::Clique {
  int ranks = 0, joined = 0, finalized = 0;
  std::vector<bool> is_here;
  std::vector<std::deque<Batch>> waiting;  // groups of calls of each rank
};

struct RecordingNccl::Comm {
  Clique* clique = nullptr;
  int rank = 0;
  bool has_called = false;
  bool is_finalized = false, has_ended = false;
  int looks = 0;  // since its last group
};

RecordingNccl::RecordingNccl() { current = this; }
RecordingNccl::~RecordingNccl() { current = nullptr; }

std::vector<std::string> RecordingNccl::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}
std::vector<std::string> RecordingNccl::breaches() const {
  const std::lock_guard lock(mutex_);
  return breaches_;
}
int RecordingNccl::alive() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(comms_.begin(), comms_.end(),
                                        [](const auto& comm) { return !comm->has_ended; }));
}
void RecordingNccl::SetTrouble(const Trouble& trouble) {
  const std::lock_guard lock(mutex_);
  trouble_ = trouble;
}

// ---- communicators ----

RecordingNccl::Comm* RecordingNccl::Find(void* handle) {
  const auto it = std::find_if(comms_.begin(), comms_.end(),
                               [&](const auto& comm) { return comm.get() == handle; });
  if (it != comms_.end() && !(*it)->has_ended) return it->get();
  Breach(it == comms_.end() ? "a communicator that nobody made" : "a communicator after its end");
  return nullptr;
}

int RecordingNccl::GetUniqueId(NcclUniqueId* id) {
  const std::lock_guard lock(mutex_);
  fmt::format_to_n(id->bytes, sizeof id->bytes - 1, "id {}", ids_++);
  return kNcclSuccess;
}

int RecordingNccl::Join(void** handle, int ranks, const NcclUniqueId& id, int rank,
                        const NcclConfig& config) {
  const std::lock_guard lock(mutex_);
  const NcclConfig expected;
  if (config.size != sizeof config || config.magic != expected.magic) return kNcclInvalidArgument;
  if (trouble_.refuses_join) return kNcclUnhandledCudaError;
  std::unique_ptr<Clique>& clique = cliques_[std::string(id.bytes)];
  if (clique == nullptr) {
    clique = std::make_unique<Clique>();
    clique->ranks = ranks;
    clique->is_here.resize(static_cast<size_t>(ranks));
    clique->waiting.resize(static_cast<size_t>(ranks));
  }
  if (clique->ranks != ranks || rank < 0 || rank >= ranks ||
      clique->is_here[static_cast<size_t>(rank)]) {
    Breach(fmt::format("rank {} of {} joins {}", rank, ranks, id.bytes));
    return kNcclInvalidArgument;
  }
  clique->is_here[static_cast<size_t>(rank)] = true;
  ++clique->joined;
  comms_.push_back(std::make_unique<Comm>());
  comms_.back()->clique = clique.get();
  comms_.back()->rank = rank;
  *handle = comms_.back().get();
  return config.blocking == 0 ? kNcclInProgress : kNcclSuccess;
}

int RecordingNccl::Finalize(void* handle) {
  const std::lock_guard lock(mutex_);
  Comm* const comm = Find(handle);
  if (comm == nullptr) return kNcclInvalidArgument;
  if (comm->is_finalized) Breach("a communicator is finalized twice");
  comm->is_finalized = true;
  ++comm->clique->finalized;
  return kNcclInProgress;
}

int RecordingNccl::End(void* handle, bool aborts) {
  const std::lock_guard lock(mutex_);
  Comm* const comm = Find(handle);
  if (comm == nullptr) return kNcclInvalidArgument;
  if (!aborts && comm->clique->finalized < comm->clique->ranks)
    Breach("a communicator is destroyed that not all ranks have finalized");
  comm->has_ended = true;
  return kNcclSuccess;
}

int RecordingNccl::AsyncError(void* handle, int* state) {
  const std::lock_guard lock(mutex_);
  Comm* const comm = Find(handle);
  if (comm == nullptr) return kNcclInvalidArgument;
  if (pending.depth > 0) Breach("a look at a communicator in a group that has not ended");
  const Clique& clique = *comm->clique;
  const bool waits = clique.joined < clique.ranks ||
                     !clique.waiting[static_cast<size_t>(comm->rank)].empty() ||
                     (comm->is_finalized && clique.finalized < clique.ranks);
  const bool fails = comm->rank == trouble_.failing_rank && comm->has_called;
  // The first look is always too early.
  *state = fails ? kNcclRemoteError : waits || comm->looks++ < 1 ? kNcclInProgress : kNcclSuccess;
  return kNcclSuccess;
}

// ---- groups ----

int RecordingNccl::GroupStart() {
  ++pending.depth;
  return kNcclSuccess;
}

int RecordingNccl::Add(void* handle, const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    const Comm* const comm = Find(handle);
    if (comm == nullptr) return kNcclInvalidArgument;
    if (trouble_.refuses_send && call.kind == CallKind::kSend) return kNcclInvalidUsage;
    calls_.push_back(fmt::format("rank {} of {}: {} {} type {}", comm->rank, comm->clique->ranks,
                                 kNames[static_cast<size_t>(call.kind)], call.count, call.type));
    if (call.reduction >= 0) calls_.back() += fmt::format(" reduction {}", call.reduction);
    if (call.peer >= 0) calls_.back() += fmt::format(" peer {}", call.peer);
  }
  if (pending.depth == 0 && IsOfPairs(call)) {
    const std::lock_guard lock(mutex_);
    Breach("a send or receive outside of a group");
  }
  GroupStart();
  pending.calls.emplace_back(handle, call);
  return GroupEnd();
}

int RecordingNccl::GroupEnd() {
  const std::lock_guard lock(mutex_);
  if (pending.depth == 0) {
    Breach("a group ends that did not begin");
    return kNcclInvalidUsage;
  }
  if (--pending.depth > 0) return kNcclSuccess;
  std::vector<std::pair<void*, Call>> calls = std::move(pending.calls);
  pending.calls.clear();
  while (!calls.empty()) {
    void* const handle = calls.front().first;
    Batch batch;
    for (const auto& [of, call] : calls) {
      if (of == handle) batch.push_back(call);
    }
    std::erase_if(calls, [&](const auto& item) { return item.first == handle; });
    if (Comm* const comm = Find(handle)) Submit(*comm, std::move(batch));
  }
  return kNcclInProgress;
}

void RecordingNccl::Submit(Comm& comm, Batch batch) {
  Clique& clique = *comm.clique;
  comm.has_called = true;
  comm.looks = 0;
  if (clique.joined < clique.ranks) Breach("a call before all ranks have joined");
  if (comm.is_finalized) Breach("a call after the communicator was finalized");
  clique.waiting[static_cast<size_t>(comm.rank)].push_back(std::move(batch));
  if (trouble_.stalls) return;
  for (size_t rank = 0; rank < clique.waiting.size(); ++rank) {
    while (PerformNext(clique, rank)) continue;
  }
}

// The next group of a rank, with those of all whom it needs, if they are there.
bool RecordingNccl::PerformNext(Clique& clique, size_t rank) {
  std::vector<size_t> needed = {rank};
  const auto need = [&](size_t other) {
    if (std::find(needed.begin(), needed.end(), other) == needed.end()) needed.push_back(other);
  };
  for (size_t i = 0; i < needed.size(); ++i) {
    if (clique.waiting[needed[i]].empty()) return false;
    for (const Call& call : clique.waiting[needed[i]].front()) {
      if (IsOfPairs(call)) {
        need(static_cast<size_t>(call.peer));
      } else {
        for (size_t other = 0; other < clique.waiting.size(); ++other) need(other);
      }
    }
  }
  std::vector<Batch> batches(clique.waiting.size());
  for (const size_t other : needed) {
    batches[other] = std::move(clique.waiting[other].front());
    clique.waiting[other].pop_front();
  }
  Perform(batches);
  return true;
}

void RecordingNccl::Perform(const std::vector<Batch>& batches) {
  const size_t before = breaches_.size();
  CheckAlike(batches);
  CheckOverlaps(batches);
  if (breaches_.size() > before) return;
  Exchange(batches);
  std::vector<std::vector<const Call*>> by_call;
  for (const Batch& batch : batches) {
    size_t i = 0;
    for (const Call& call : batch) {
      if (IsOfPairs(call)) continue;
      if (by_call.size() <= i) by_call.emplace_back();
      by_call[i++].push_back(&call);
    }
  }
  for (const auto& ranks : by_call) Collective(ranks);
}

// Collectives are the same on all ranks, and sends meet receives of their count and type.
void RecordingNccl::CheckAlike(const std::vector<Batch>& batches) {
  const auto collectives = [](const Batch& batch) {
    std::vector<std::tuple<CallKind, size_t, int, int, int>> list;
    for (const Call& call : batch) {
      if (!IsOfPairs(call))
        list.emplace_back(call.kind, call.count, call.type, call.reduction, call.peer);
    }
    return list;
  };
  using Sizes = std::vector<std::pair<size_t, int>>;
  std::map<std::pair<int, int>, Sizes> sent, received;  // by source and target
  for (size_t rank = 0; rank < batches.size(); ++rank) {
    if (collectives(batches[rank]) != collectives(batches[0]))
      Breach(fmt::format("rank {} has other calls than rank 0", rank));
    for (const Call& call : batches[rank]) {
      const auto own = static_cast<int>(rank);
      if (call.kind == CallKind::kSend) sent[{own, call.peer}].emplace_back(call.count, call.type);
      if (call.kind == CallKind::kRecv)
        received[{call.peer, own}].emplace_back(call.count, call.type);
    }
  }
  if (sent != received) Breach("sends and receives do not match");
}

// What a rank receives into is nothing that it sends or receives otherwise.
void RecordingNccl::CheckOverlaps(const std::vector<Batch>& batches) {
  for (const Batch& batch : batches) {
    for (const Call& to : batch) {
      if (to.kind != CallKind::kRecv) continue;
      const auto* const begin = Bytes(static_cast<const void*>(to.to));
      const auto* const end = begin + to.count * BytesOf(to.type);
      for (const Call& other : batch) {
        if (&other == &to || !IsOfPairs(other)) continue;
        const auto* const memory =
            Bytes(other.kind == CallKind::kSend ? other.from : static_cast<const void*>(other.to));
        if (memory < end && begin < memory + other.count * BytesOf(other.type))
          Breach("memory is received into and used otherwise");
      }
    }
  }
}

void RecordingNccl::Exchange(const std::vector<Batch>& batches) {
  std::map<std::pair<int, int>, std::deque<const void*>> sent;
  for (size_t rank = 0; rank < batches.size(); ++rank) {
    for (const Call& call : batches[rank]) {
      if (call.kind == CallKind::kSend)
        sent[{static_cast<int>(rank), call.peer}].push_back(call.from);
    }
  }
  for (size_t rank = 0; rank < batches.size(); ++rank) {
    for (const Call& call : batches[rank]) {
      if (call.kind != CallKind::kRecv) continue;
      std::deque<const void*>& queue = sent[{call.peer, static_cast<int>(rank)}];
      std::memcpy(call.to, queue.front(), call.count * BytesOf(call.type));
      queue.pop_front();
    }
  }
}

void RecordingNccl::Collective(const std::vector<const Call*>& ranks) {
  const Call& first = *ranks[0];
  const size_t share = first.count * BytesOf(first.type), size = ranks.size();
  const bool scatters = first.kind == CallKind::kReduceScatter;
  const bool reduces = scatters || first.kind == CallKind::kAllReduce;
  // What all ranks have together, before anybody writes.
  std::vector<std::byte> whole;
  if (reduces) {
    const auto reduction = static_cast<NcclReduction>(first.reduction);
    const size_t count = scatters ? first.count * size : first.count;
    whole.assign(Bytes(first.from), Bytes(first.from) + count * BytesOf(first.type));
    for (size_t rank = 1; rank < size; ++rank)
      CombinerOf(first.type, reduction)(reduction, whole.data(), Bytes(ranks[rank]->from), count);
  } else if (first.kind == CallKind::kAllGather) {
    for (const Call* const rank : ranks)
      whole.insert(whole.end(), Bytes(rank->from), Bytes(rank->from) + share);
  } else {
    const auto* const root = Bytes(ranks[static_cast<size_t>(first.peer)]->from);
    whole.assign(root, root + share);
  }
  for (size_t rank = 0; rank < size; ++rank) {
    const size_t from = scatters ? rank * share : 0;
    std::memcpy(Bytes(ranks[rank]->to), whole.data() + from, scatters ? share : whole.size());
  }
}

// ---- the table ----

struct RecordingNcclCalls {
  using Call = RecordingNccl::Call;
  using Kind = RecordingNccl::CallKind;

  static int Version(int* version) {
    *version = 22703;
    return kNcclSuccess;
  }
  static const char* ErrorString(int result) {
    return result == kNcclRemoteError    ? "remote process exited or there was a network error"
           : result == kNcclInvalidUsage ? "invalid usage"
                                         : "unhandled cuda error";
  }
  static const char* LastError(void*) { return ""; }
  static int UniqueId(NcclUniqueId* id) { return current->GetUniqueId(id); }
  static int Join(void** comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
    return current->Join(comm, ranks, id, rank, *config);
  }
  static int Finalize(void* comm) { return current->Finalize(comm); }
  static int Destroy(void* comm) { return current->End(comm, /*aborts=*/false); }
  static int Abort(void* comm) { return current->End(comm, /*aborts=*/true); }
  static int AsyncError(void* comm, int* state) { return current->AsyncError(comm, state); }
  static int GroupStart() { return current->GroupStart(); }
  static int GroupEnd() { return current->GroupEnd(); }
  static int AllReduce(const void* from, void* to, size_t count, int type, int reduction,
                       void* comm, void*) {
    return current->Add(comm, {Kind::kAllReduce, from, to, count, type, reduction, -1});
  }
  static int ReduceScatter(const void* from, void* to, size_t count, int type, int reduction,
                           void* comm, void*) {
    return current->Add(comm, {Kind::kReduceScatter, from, to, count, type, reduction, -1});
  }
  static int AllGather(const void* from, void* to, size_t count, int type, void* comm, void*) {
    return current->Add(comm, {Kind::kAllGather, from, to, count, type, -1, -1});
  }
  static int Broadcast(const void* from, void* to, size_t count, int type, int root, void* comm,
                       void*) {
    return current->Add(comm, {Kind::kBroadcast, from, to, count, type, -1, root});
  }
  static int Send(const void* from, size_t count, int type, int peer, void* comm, void*) {
    return current->Add(comm, {Kind::kSend, from, nullptr, count, type, -1, peer});
  }
  static int Receive(void* to, size_t count, int type, int peer, void* comm, void*) {
    return current->Add(comm, {Kind::kRecv, nullptr, to, count, type, -1, peer});
  }
};

const Nccl& RecordingNccl::Table() {
  using Calls = RecordingNcclCalls;
  static const Nccl table = [] {
    Nccl nccl;
    nccl.ncclGetVersion = Calls::Version;
    nccl.ncclGetErrorString = Calls::ErrorString;
    nccl.ncclGetLastError = Calls::LastError;
    nccl.ncclGetUniqueId = Calls::UniqueId;
    nccl.ncclCommInitRankConfig = Calls::Join;
    nccl.ncclCommFinalize = Calls::Finalize;
    nccl.ncclCommDestroy = Calls::Destroy;
    nccl.ncclCommAbort = Calls::Abort;
    nccl.ncclCommGetAsyncError = Calls::AsyncError;
    nccl.ncclGroupStart = Calls::GroupStart;
    nccl.ncclGroupEnd = Calls::GroupEnd;
    nccl.ncclAllReduce = Calls::AllReduce;
    nccl.ncclReduceScatter = Calls::ReduceScatter;
    nccl.ncclAllGather = Calls::AllGather;
    nccl.ncclBroadcast = Calls::Broadcast;
    nccl.ncclSend = Calls::Send;
    nccl.ncclRecv = Calls::Receive;
    nccl.path = "recording";
    Calls::Version(&nccl.version);
    return nccl;
  }();
  return table;
}

}  // namespace hlo::gpu
