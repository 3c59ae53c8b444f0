// backends/gpu/sim/simulated_device.h
//
// A GPU that is this processor: kernels run as their LLVM IR says, thread by thread (sim/). Streams
// really are queues: work is done at Synchronize, taken from all streams of the device in an order
// chosen by the seed among those that events allow. Fresh and freed memory is filled with 0xff,
// which is NaN for floats.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

struct SimulatorOptions {
  uint64_t seed = 0;      // of the schedule; 0: natural order
  bool sanitize = false;  // watch every access (sim/engine.h)
  int64_t memory_bytes = int64_t{1} << 40;
};

absl::StatusOr<std::unique_ptr<Device>> MakeSimulatedDevice(const SimulatorOptions& options);

}  // namespace hlo::gpu
