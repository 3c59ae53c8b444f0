// Names of kernels where all of them are one module of PTX: those of the fusions and operations
// that they compute, as XLA has it.
//
//   loop_fusion.2 = fusion(x), kind=kLoop      .entry loop_fusion_2(
#pragma once

#include <vector>

#include "backends/gpu/device/device.h"

namespace hlo::gpu {

// Gives all kernels symbols that PTX takes: of letters, digits and `_`, none of its own words
// (`add` is `add_kernel`), each once. The same kernels, the same names.
void NameKernels(std::vector<UniqueKernel>& kernels);

}  // namespace hlo::gpu
