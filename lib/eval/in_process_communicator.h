// Devices that are threads of one process: operands are handed over by address, and each device
// computes its own result. That no device can go on is found as soon as the last one stops, and is
// an error for all of them, which says who waits where and for whom.
//
//   f.hlo:7:3: error: the devices cannot go on: device 0 waits at `sum` (all-reduce, channel 1) for
//   device 1
//   f.hlo:9:3: note: device 1 waits at `all` (all-gather) for device 0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lib/eval/device_communicator.h"

namespace hlo {

class InProcessCommunicator final : public DeviceCommunicator {
 public:
  // So long a device waits for one that is still busy, unless told otherwise: no computation takes
  // longer between two collectives.
  static constexpr std::chrono::seconds kLongestWait{1800};

  explicit InProcessCommunicator(const DeviceMesh& mesh,
                                 std::chrono::duration<double> longest_wait = kLongestWait)
      : mesh_(mesh), longest_wait_(longest_wait) {
    Restart();
  }

  DeviceMesh mesh() const override { return mesh_; }
  std::vector<int64_t> own_devices() const override;  // all of them
  void Restart() override;
  absl::StatusOr<Literal> Meet(int64_t device, const Instruction& instruction,
                               const std::vector<int64_t>& group, std::vector<Literal> operands,
                               const Compute& compute) override;
  absl::StatusOr<bool> MeetInMemory(int64_t device, const Instruction& instruction,
                                    const std::vector<int64_t>& group, Places own,
                                    const Work& work) override;
  absl::Status Send(const Route& route, Literal value) override;
  absl::StatusOr<Literal> Receive(const Route& route, const Instruction& instruction) override;
  absl::Status Failure() const override;
  void AddThreads(int64_t device, int count) override;
  void Leave(int64_t device, absl::Status status) override;

 private:
  // Lives as long as a member still reads the operands of the others.
  struct Rendezvous {
    std::vector<int64_t> group;
    std::vector<std::vector<Literal>> operands;  // by member; or
    std::vector<Places> places;
    std::vector<bool> is_here;
    size_t arrived = 0, done = 0;
    std::condition_variable all_done;
    bool is_complete() const { return arrived == group.size(); }
  };
  // What a device waits at, and for whom.
  struct Wait {
    int64_t device = 0;
    const Instruction* instruction = nullptr;
    std::shared_ptr<Rendezvous> rendezvous;  // or null: there is a route
    std::optional<Route> route;
  };
  using Lock = std::unique_lock<std::mutex>;

  // Comes to `instruction`, brings what `put` puts into the rendezvous, and waits for the others.
  struct Arrival {
    std::shared_ptr<Rendezvous> rendezvous;
    size_t self = 0;  // the device's place in the group
  };
  template <class Put>
  absl::StatusOr<Arrival> Arrive(int64_t device, const Instruction& instruction,
                                 const std::vector<int64_t>& group, const Put& put);

  // Waits until `is_over`, an error of somebody, or for too long.
  absl::Status WaitUntil(Lock& lock, Wait wait, const std::function<bool()>& is_over);
  // Fails when no device can go on.
  void CheckProgress();
  void Fail(absl::Status status);
  absl::Status Report(std::string_view what) const;

  const DeviceMesh mesh_;
  const std::chrono::duration<double> longest_wait_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Those not complete, by instruction and first device of the group.
  std::map<std::pair<const Instruction*, int64_t>, std::shared_ptr<Rendezvous>> open_;
  std::map<Route, std::deque<Literal>> messages_;
  std::map<int64_t, Wait> waits_;  // by number, in the order in which they began
  int64_t next_wait_ = 0;
  std::vector<int64_t> threads_;  // of each device
  std::vector<bool> has_left_;
  int64_t left_ = 0;
  absl::Status failure_;
  std::atomic<bool> has_failed_ = false;  // whether `failure_` is an error, without the lock
};

}  // namespace hlo
