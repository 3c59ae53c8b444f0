// backends/gpu/library/recording_nccl.h
//
// Functions that stand for NCCL's among threads of one process, whose memory is the host's: they
// compute what NCCL would, note every call, and every breach of its contract. Ranks are threads; a
// group of calls runs when all ranks that it needs have ended theirs, and until then
// ncclCommGetAsyncError says that it is in progress. For tests of the code that calls NCCL.
//
// Breaches: a group that does not end before its outcome is asked for, or ends twice; ranks with
// other calls, counts, types or reductions than the first; a send without its receive, of another
// size, or outside of a group; memory that is sent and received into at once; a rank that joins
// twice; a communicator used after its end, or destroyed before all ranks have finalized it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/gpu/cuda/nccl.h"

namespace hlo::gpu {

class RecordingNccl final {
 public:
  // One at a time: it is who answers the functions of Table().
  RecordingNccl();
  ~RecordingNccl();
  RecordingNccl(const RecordingNccl&) = delete;
  RecordingNccl& operator=(const RecordingNccl&) = delete;

  static const Nccl& Table();

  // "rank 0 of 2: all-reduce 6 type 7 reduction 0", in the order of each rank.
  std::vector<std::string> calls() const;
  // Empty: the contract was kept.
  std::vector<std::string> breaches() const;
  // Communicators that were not given back.
  int alive() const;

  // What goes wrong. Ranks are those of the communicator.
  struct Trouble {
    bool stalls = false;        // nothing is ever done
    int failing_rank = -1;      // its communicator has a remote error after its first group
    bool refuses_send = false;  // ncclSend is an invalid use
    bool refuses_join = false;  // ncclCommInitRankConfig fails
  };
  void SetTrouble(const Trouble& trouble);

  enum class CallKind : uint8_t {
    kAllReduce,
    kReduceScatter,
    kAllGather,
    kBroadcast,
    kSend,
    kRecv
  };
  struct Call {
    CallKind kind;
    const void* from;
    void* to;
    size_t count;
    int type, reduction, peer;
  };

 private:
  friend struct RecordingNcclCalls;
  struct Clique;
  struct Comm;
  using Batch = std::vector<Call>;

  void Breach(std::string text) { breaches_.push_back(std::move(text)); }
  Comm* Find(void* handle);
  int GetUniqueId(NcclUniqueId* id);
  int Join(void** handle, int ranks, const NcclUniqueId& id, int rank, const NcclConfig& config);
  int Finalize(void* handle);
  int End(void* handle, bool aborts);
  int AsyncError(void* handle, int* state);
  int Add(void* handle, const Call& call);
  int GroupStart();
  int GroupEnd();
  void Submit(Comm& comm, Batch batch);
  bool PerformNext(Clique& clique, size_t rank);
  // Groups of calls that belong together, by rank; those of the others are empty.
  void Perform(const std::vector<Batch>& batches);
  void CheckAlike(const std::vector<Batch>& batches);
  void CheckOverlaps(const std::vector<Batch>& batches);
  void Exchange(const std::vector<Batch>& batches);
  void Collective(const std::vector<const Call*>& ranks);

  mutable std::mutex mutex_;
  int64_t ids_ = 0;
  std::map<std::string, std::unique_ptr<Clique>> cliques_;  // by id
  std::vector<std::unique_ptr<Comm>> comms_;                // those that ended, too
  std::vector<std::string> calls_, breaches_;
  Trouble trouble_;
};

}  // namespace hlo::gpu
