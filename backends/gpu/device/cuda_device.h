// A GPU through the CUDA driver (cuda/driver.h). Takes cubins, else PTX, which the driver then
// translates.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

// How many the driver knows.
absl::StatusOr<int> CountCudaDevices();

// Device `ordinal` of this machine.
absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(int ordinal = 0);

}  // namespace hlo::gpu
