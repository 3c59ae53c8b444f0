#include "backends/gpu/placed_program.h"

#include "backends/codegen/compiled_executable.h"
#include "backends/common/stored_array.h"
#include "backends/gpu/device/staging.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {

absl::StatusOr<DevicePtr> PlaceAllocations(Device& device,
                                           const std::vector<Allocation>& allocations,
                                           bool (*wanted)(const Allocation&), int64_t first_bytes,
                                           std::vector<DevicePtr>& addresses) {
  int64_t offset = RoundUp(first_bytes, kMemoryAlignment), total = offset;
  for (const Allocation& allocation : allocations)
    total += wanted(allocation) ? RoundUp(allocation.size, kMemoryAlignment) : 0;
  ASSIGN_OR_RETURN(const DevicePtr memory, device.Allocate(total));
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Allocation& allocation = allocations[i];
    if (!wanted(allocation) || allocation.size == 0) continue;
    addresses[i] = memory + static_cast<DevicePtr>(offset);
    offset += RoundUp(allocation.size, kMemoryAlignment);
  }
  return memory;
}

absl::StatusOr<std::unique_ptr<PlacedProgram>> PlacedProgram::Make(
    std::shared_ptr<Device> device, const std::vector<Allocation>& allocations, size_t kernels,
    const std::vector<DeviceCode>& codes, const std::vector<DeviceCode>& given) {
  std::unique_ptr<PlacedProgram> placed(new PlacedProgram(std::move(device)));
  RETURN_IF_ERROR(placed->device_->Enter());
  RETURN_IF_ERROR(placed->LoadKernels(codes, placed->kernels_));
  RETURN_IF_ERROR(placed->LoadKernels(given, placed->given_kernels_));
  RET_CHECK(placed->kernels_.size() == kernels, "{} kernels loaded, {} wanted",
            placed->kernels_.size(), kernels);
  RETURN_IF_ERROR(placed->LoadConstants(allocations));
  return placed;
}

PlacedProgram::~PlacedProgram() {
  device_->Enter().IgnoreError();
  modules_.clear();
  device_->Free(constant_memory_).IgnoreError();
}

absl::Status PlacedProgram::LoadKernels(const std::vector<DeviceCode>& codes,
                                        std::vector<const DeviceKernel*>& kernels) {
  for (const DeviceCode& code : codes) {
    ASSIGN_OR_RETURN(std::unique_ptr<DeviceModule> loaded, device_->LoadModule(code));
    for (const KernelEntry& entry : code.kernels) {
      ASSIGN_OR_RETURN(const DeviceKernel* const kernel, loaded->Find(entry.name));
      kernels.push_back(kernel);
    }
    modules_.push_back(std::move(loaded));
  }
  return absl::OkStatus();
}

absl::Status PlacedProgram::LoadConstants(const std::vector<Allocation>& allocations) {
  constants_.assign(allocations.size(), 0);
  ASSIGN_OR_RETURN(constant_memory_,
                   PlaceAllocations(*device_, allocations, IsConstant, 0, constants_));
  if (constant_memory_ == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
  int64_t total = 0;
  for (const Allocation& allocation : allocations)
    total += IsConstant(allocation) ? allocation.size : 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<Staging> staging, Staging::Make(*device_, total));
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Allocation& allocation = allocations[i];
    if (!IsConstant(allocation) || allocation.size == 0) continue;
    RETURN_IF_ERROR(RefuseElided(*allocation.value, allocation.constant->name()));
    std::vector<std::byte> copy;
    ASSIGN_OR_RETURN(const void* const bytes,
                     StoredForm(*allocation.value, allocation.value->shape(), copy));
    RETURN_IF_ERROR(staging->ToDevice(*stream, constants_[i], bytes, allocation.size));
  }
  return stream->Synchronize();
}

}  // namespace hlo::gpu
