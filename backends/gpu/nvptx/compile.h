// backends/gpu/nvptx/compile.h
//
// The kernels of a program as code that a GPU takes: PTX, and machine code where there is an
// assembler (assembler.h); without one the driver translates the PTX when it is loaded. Kernels are
// split evenly into as many modules as there are threads, which are compiled at the same time. The
// code does not depend on their number.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/nvptx/nvptx.h"

namespace hlo::gpu {

// In the order of `kernels`. `threads` as in CompileOptions.
absl::StatusOr<std::vector<DeviceCode>> CompileKernels(absl::Span<const UniqueKernel> kernels,
                                                       const PtxOptions& options, int threads);

// The same from edited PTX, which must have all of `kernels`.
absl::StatusOr<DeviceCode> CompileEdited(const StageText& ptx,
                                         absl::Span<const UniqueKernel> kernels,
                                         std::string_view target);

}  // namespace hlo::gpu
