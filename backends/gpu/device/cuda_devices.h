// backends/gpu/device/cuda_devices.h
//
// The GPUs that this process uses, opened when they are first needed, with the memory that
// executables before gave back (caching_device.h).
//
// Of several processes on one machine each takes GPUs of its own, where there are enough: mpirun
// says to each how many there are, and the how-manieth it is.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

struct ProcessPlace {
  int64_t processes = 1;
  int64_t local_rank = 0;  // among those on this machine
};
// As mpirun says in the environment; without one, a process is alone.
ProcessPlace PlaceOfProcess();

// Which of `gpus` a process uses for a module that runs on `devices`: one for each device that it
// runs, or a single one for all of them where there are too few.
std::vector<int> OrdinalsFor(int64_t devices, int64_t gpus, const ProcessPlace& place);

// Those, opened; the same objects for the life of the process.
absl::StatusOr<std::vector<std::shared_ptr<Device>>> CudaDevicesFor(int64_t devices);

}  // namespace hlo::gpu
