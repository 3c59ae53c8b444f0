// Which of the ways that our own kernels have to do something (KernelPlan::choices: sizes of tiles,
// blocks that share a depth) is the fastest on a device, for each product with what is fused to it.
// What is found is kept like what is found of libraries' kernels (kernel_choices.h), by the shapes
// and operations, the device, and the driver.
//
// Two processes may choose otherwise, and with it the last bits of a sum, but for what a file says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/emit/core/kernel_plan.h"
#include "lib/ir/instruction.h"

namespace hlo::gpu {

class KernelTuner {
 public:
  virtual ~KernelTuner() = default;
  // The plan of the fastest choice, of `plan`, which is that of choice 0, and the others that
  // EmitInstruction(instruction, options) gives. `plan` itself where nothing can be timed: it has
  // no choices, there is no memory, or it needs what only a running program knows.
  virtual KernelPlan Fastest(const Instruction& instruction, const FamilyOptions& options,
                             KernelPlan plan) = 0;
};

// Kernels as code for a device.
using CompileForDevice =
    std::function<absl::StatusOr<std::vector<DeviceCode>>(absl::Span<const UniqueKernel>)>;

// Times on `device`. `file`: where choices are kept; "": nowhere. An error if it cannot be read.
absl::StatusOr<std::shared_ptr<KernelTuner>> MakeKernelTuner(std::shared_ptr<Device> device,
                                                             CompileForDevice compile,
                                                             std::string file);

}  // namespace hlo::gpu
