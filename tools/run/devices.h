// The devices of a run: how many there are, what each of them gets, and states for all of them.
//
//   --num-replicas=2 --num-partitions=2     device 3 is partition 1 of replica 1
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "tools/run/device_threads.h"
#include "tools/run/inputs.h"
#include "tools/run/options.h"

namespace hlo {

// More threads than anybody has use for.
inline constexpr int64_t kMostRunDevices = 4096;

// Gives the module the numbers of --num-replicas and --num-partitions (0: not given), and looks
// whether it still fits.
absl::Status SetDevices(Module& module, int64_t replicas, int64_t partitions);
// Those that the module is to run on. Where nobody has asked for a number (`is_given`), a module in
// which nothing tells devices apart has one: all would compute the same.
absl::StatusOr<DeviceMesh> ChooseDevices(Module& module, bool is_given);

// "device 3 (replica 1, partition 1)"; no ids where the device's number is one.
std::string DeviceName(const DeviceMesh& mesh, int64_t device);
// "// device 3\n" before what belongs to it; nothing for a single device.
std::string DeviceHeading(const DeviceMesh& mesh, int64_t device);
// DIR/device3, or DIR for a single device.
std::string DeviceFolder(const std::string& directory, const DeviceMesh& mesh, int64_t device);
// a.device3.npy of a.npy, or a.npy for a single device.
std::string DeviceFile(const std::string& path, const DeviceMesh& mesh, int64_t device);
// The same for a folder that is read: DIR where it holds nothing for single devices. For a file,
// where there are only those of devices, that of the device.
absl::StatusOr<std::string> FolderToRead(const std::string& directory, const DeviceMesh& mesh,
                                         int64_t device);

// "3:VALUE" apart; -1 for what all devices get.
std::pair<int64_t, std::string_view> SplitDevice(std::string_view word);

// Those of the words that are for this device.
absl::StatusOr<std::vector<std::string>> WordsOf(const std::vector<std::string>& words,
                                                 const DeviceMesh& mesh, int64_t device);

struct DeviceArguments {
  std::vector<std::vector<Literal>> values;  // by device
  std::vector<std::string> notes;
};
// The arguments of all devices: `N:VALUE` is a value of device N, DIR/deviceN its folder, and what
// is made is made from seed + N unless all are to share it.
absl::StatusOr<DeviceArguments> MakeDeviceArguments(const Module& module,
                                                    const InputSources& sources,
                                                    const DeviceMesh& mesh, bool share_made);

// States of one executable for all devices of this process, which run together.
class DeviceStates final {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceStates>> Make(
      const Executable& executable, absl::Span<const std::vector<Literal>> arguments_by_device,
      const DeviceMesh& mesh, const RunOptions& options, const DeviceLimits& limits = {});

  absl::Status Renew();
  absl::Status Run();
  // ExecutionState::RunMany where there is one device; else false.
  absl::StatusOr<bool> RunMany(int64_t runs);
  // The same by `run`, which is called for each device in its thread.
  using RunState = std::function<absl::Status(size_t device, ExecutionState& state)>;
  absl::Status Run(const RunState& run);
  // Of the last run, by device; of all devices of all processes.
  absl::StatusOr<std::vector<Literal>> Results();

 private:
  DeviceStates(const Module& module, const DeviceMesh& mesh, const DeviceLimits& limits)
      : threads_(module, mesh, limits), distributed_(limits.distributed) {}

  DeviceThreads threads_;
  DistributedCommunicator* distributed_;
  std::vector<std::unique_ptr<ExecutionState>> states_;  // of the devices of this process
  int64_t first_ = 0;                                    // of them
};

}  // namespace hlo
