// The devices of a run that are in this process: how they meet, and running them together, each in
// a thread of its own.
//
//   DeviceThreads threads(module, mesh, limits);
//   threads.Run([&](int64_t device) { return states[device]->Execute(…); });
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "backends/backend.h"
#include "lib/eval/distributed_communicator.h"
#include "lib/eval/in_process_communicator.h"

namespace hlo {

class FeedFiles;

// How long devices wait for each other, what ends the process when one cannot be ended, and the
// host's end of infeed and outfeed.
struct DeviceLimits {
  double timeout_seconds = 0;  // 0: InProcessCommunicator::kLongestWait
  std::function<void(const absl::Status& error)> abandon;
  FeedFiles* feed = nullptr;  // or null: infeed and outfeed are errors
  // To devices of other processes; null: all of them are in this one.
  DistributedCommunicator* distributed = nullptr;

  std::chrono::duration<double> timeout() const;
};

class DeviceThreads final {
 public:
  // For runs of `module`.
  DeviceThreads(const Module& module, const DeviceMesh& mesh, DeviceLimits limits);

  // The devices of this process, in order.
  std::vector<int64_t> own() const { return communicator_.own_devices(); }
  // `options` with the ids of a device, and the others for it to meet.
  RunOptions OptionsOf(int64_t device, RunOptions options);
  // Begins a run: calls `run` for each device of this process, in its thread.
  using RunDevice = std::function<absl::Status(int64_t device)>;
  absl::Status Run(const RunDevice& run);
  // The same for one more step of a run: infeeds go on where they were.
  absl::Status GoOn(const RunDevice& run);

 private:
  const DeviceLimits limits_;
  InProcessCommunicator in_process_;
  DeviceCommunicator& communicator_;  // that one, or limits_.distributed
  bool is_alone_;                     // a device that nobody meets
};

}  // namespace hlo
