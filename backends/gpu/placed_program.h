// The code and the constants of a program on one device.
#pragma once

#include <memory>
#include <vector>

#include "backends/common/buffer_assignment.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

class PlacedProgram final {
 public:
  // `codes`: one for each of `kernels` kernels, or one that holds them all. `given`: of kernels
  // that the module brought along. The calling thread uses the device from then on.
  static absl::StatusOr<std::unique_ptr<PlacedProgram>> Make(
      std::shared_ptr<Device> device, const std::vector<Allocation>& allocations, size_t kernels,
      const std::vector<DeviceCode>& codes, const std::vector<DeviceCode>& given);
  ~PlacedProgram();
  PlacedProgram(const PlacedProgram&) = delete;
  PlacedProgram& operator=(const PlacedProgram&) = delete;

  const std::shared_ptr<Device>& device() const { return device_; }
  const std::vector<const DeviceKernel*>& kernels() const { return kernels_; }
  const std::vector<const DeviceKernel*>& given_kernels() const { return given_kernels_; }
  // By allocation; 0 but for constants.
  const std::vector<DevicePtr>& constants() const { return constants_; }

 private:
  explicit PlacedProgram(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  absl::Status LoadKernels(const std::vector<DeviceCode>& codes,
                           std::vector<const DeviceKernel*>& kernels);
  absl::Status LoadConstants(const std::vector<Allocation>& allocations);

  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<DeviceModule>> modules_;
  std::vector<const DeviceKernel*> kernels_, given_kernels_;
  DevicePtr constant_memory_ = 0;
  std::vector<DevicePtr> constants_;
};

// Memory for `first_bytes`, and after them the wanted allocations, whose places it notes in
// `addresses`.
absl::StatusOr<DevicePtr> PlaceAllocations(Device& device,
                                           const std::vector<Allocation>& allocations,
                                           bool (*wanted)(const Allocation&), int64_t first_bytes,
                                           std::vector<DevicePtr>& addresses);

}  // namespace hlo::gpu
