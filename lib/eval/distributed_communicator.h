// lib/eval/distributed_communicator.h
//
// Devices that are threads of several processes. Every process has the whole module and runs a
// block of its devices, one after the other by number: of 8 devices, the second of 4 processes has
// 2 and 3. At a collective each device sends its operands to all processes with members of its
// group, once to each, and computes its own result of what has come: the values are those of one
// process.
//
// An error of a device ends the devices of all processes. A device that waits for one that has
// finished, or for too long, ends the run with an account of who waits where; so does rank 0, to
// which all processes say how they stand (rank_state.h), when no device of any of them can go on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "lib/eval/device_communicator.h"
#include "lib/eval/rank_state.h"
#include "lib/eval/transport.h"

namespace hlo {

class DistributedCommunicator final : public DeviceCommunicator {
 public:
  // The mesh and the module are the same in all processes; `transport` outlives this object.
  DistributedCommunicator(const DeviceMesh& mesh, Transport& transport,
                          std::chrono::duration<double> longest_wait);
  ~DistributedCommunicator() override;

  DeviceMesh mesh() const override { return mesh_; }
  std::vector<int64_t> own_devices() const override;
  // An error of a run is one of all that follow.
  void Restart() override;
  absl::StatusOr<Literal> Meet(int64_t device, const Instruction& instruction,
                               const std::vector<int64_t>& group, std::vector<Literal> operands,
                               const Compute& compute) override;
  absl::StatusOr<bool> MeetInMemory(int64_t, const Instruction&, const std::vector<int64_t>&,
                                    Places, const Work&) override {
    return false;
  }
  absl::Status Send(const Route& route, Literal value) override;
  absl::StatusOr<Literal> Receive(const Route& route, const Instruction& instruction) override;
  absl::Status Failure() const override;
  void AddThreads(int64_t device, int count) override;
  void Leave(int64_t device, absl::Status status) override;

  // After a run: the results of all devices, in every process. `own`: of own_devices().
  absl::StatusOr<std::vector<Literal>> Gather(const std::vector<Literal>& own);

 private:
  enum class MessageKind : int64_t { kMeet, kSend, kLeave, kFail, kResult, kState, kOverdue };
  static WireWriter MessageOf(MessageKind kind);
  // One meeting of a group: the how-manieth of these devices at this instruction in this run.
  struct Key {
    int64_t run = 0;
    std::string instruction;
    int64_t first = 0;  // device of the group
    int64_t number = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Meeting {
    std::map<size_t, std::vector<Literal>> operands;  // by place in the group
  };
  struct RunRoute {
    int64_t run = 0;
    Route route;
    auto operator<=>(const RunRoute&) const = default;
  };
  // What an own device waits at. Its thread owns what the functions refer to.
  struct Wait {
    int64_t device = 0;
    const Instruction* instruction = nullptr;
    absl::FunctionRef<bool()> is_over;
    absl::FunctionRef<std::vector<int64_t>()> missing;  // for whom it waits
  };
  using Lock = std::unique_lock<std::mutex>;

  int RankOf(int64_t device) const;
  void SendToOthers(const WireBytes& message);
  // What a device of this rank may wait for.
  void SendCounted(int rank, WireBytes message);
  void ListenOn();
  absl::Status Take(const WireBytes& message);
  void CountReceived(int64_t run, int64_t rank);
  absl::Status TakeState(WireReader& reader);
  absl::Status WaitUntil(Lock& lock, const Wait& wait);

  // distributed_watch.cc:
  RankState OwnState() const;
  // Says how this process stands where that has changed; rank 0 looks whether anybody goes on.
  void Watch();
  void TellState();
  bool HasLeft(int64_t device) const;
  // That a wait took too long.
  absl::Status OverdueReport(int64_t run) const;
  // Of what is known here: rank 0 knows about all.
  absl::Status Report(std::string_view what, int64_t run) const;
  // `from_here`: others do not know yet.
  void Fail(absl::Status status, bool from_here);

  const DeviceMesh mesh_;
  Transport& transport_;
  const std::chrono::duration<double> longest_wait_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t run_ = 0;
  std::map<Key, std::shared_ptr<Meeting>> open_;
  std::map<std::pair<int64_t, std::string>, int64_t> meetings_;  // of a device at an instruction
  std::map<RunRoute, std::deque<Literal>> messages_;
  std::map<int64_t, Wait> waits_;  // of own devices, by number
  int64_t next_wait_ = 0;
  std::map<int64_t, int> more_threads_;               // of own devices, than one
  std::vector<int64_t> sent_;                         // in this run, to each rank
  std::map<int64_t, std::vector<int64_t>> received_;  // by run, from each rank
  std::vector<RankState> states_;  // rank 0: what others said last; else whether they have ended
  WireBytes told_;                 // the last that this one said
  std::set<std::pair<int64_t, int64_t>> left_;              // run and device
  std::map<std::pair<int64_t, int64_t>, Literal> results_;  // run and device
  absl::Status failure_;
  std::atomic<bool> has_failed_ = false, is_closing_ = false;
  std::thread listener_;
};

}  // namespace hlo
