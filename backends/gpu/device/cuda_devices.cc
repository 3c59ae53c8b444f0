#include "backends/gpu/device/cuda_devices.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "backends/gpu/device/caching_device.h"
#include "backends/gpu/device/cuda_device.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

// A number in the environment, at least `least`.
int64_t NumberIn(const char* variable, int64_t least) {
  const char* const text = std::getenv(variable);
  return std::max<int64_t>(least, text == nullptr ? least : std::atoll(text));
}

absl::StatusOr<std::shared_ptr<Device>> CudaDeviceOfProcess(int ordinal) {
  static std::mutex mutex;
  static std::map<int, absl::StatusOr<std::shared_ptr<Device>>> opened;
  const std::lock_guard lock(mutex);
  const auto known = opened.find(ordinal);
  if (known != opened.end()) return known->second;
  const auto open = [&]() -> absl::StatusOr<std::shared_ptr<Device>> {
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, MakeCudaDevice(ordinal));
    return std::make_shared<CachingDevice>(std::move(device));
  };
  return opened.emplace(ordinal, open()).first->second;
}

}  // namespace

ProcessPlace PlaceOfProcess() {
  return {NumberIn("OMPI_COMM_WORLD_SIZE", 1), NumberIn("OMPI_COMM_WORLD_LOCAL_RANK", 0)};
}

std::vector<int> OrdinalsFor(int64_t devices, int64_t gpus, const ProcessPlace& place) {
  const int64_t own = CeilDiv(devices, place.processes);
  const int64_t first = place.local_rank * own;
  if (first + own > gpus)
    return {static_cast<int>(gpus > 0 ? place.local_rank % gpus : place.local_rank)};
  std::vector<int> ordinals;
  for (int64_t i = 0; i < own; ++i) ordinals.push_back(static_cast<int>(first + i));
  return ordinals;
}

absl::StatusOr<std::vector<std::shared_ptr<Device>>> CudaDevicesFor(int64_t devices) {
  ASSIGN_OR_RETURN(const int gpus, CountCudaDevices());
  std::vector<std::shared_ptr<Device>> opened;
  for (const int ordinal : OrdinalsFor(devices, gpus, PlaceOfProcess())) {
    ASSIGN_OR_RETURN(opened.emplace_back(), CudaDeviceOfProcess(ordinal));
  }
  return opened;
}

}  // namespace hlo::gpu
