// How cuDNN wants the arrays of a convolution to lie.
//
//   NCHW: batch, features, places      NHWC: batch, places, features      (the major one first)
//   kernels: output features first, then in the same order; what has no role is minor
//
// NHWC: integers, f8; from compute capability 9.0 on all but f64; before, f16 and bf16 in two
// dimensions from 7.0 on. NCHW: all else, s8 whose features are divided in two dimensions included.
#pragma once

#include "passes/layout/gpu_layout_preferences.h"

namespace hlo {

// Of a call of cuDNN, or of a convolution that is to become a forward one; nothing for all else.
void AddConvolutionLayouts(const Instruction& instruction, const GpuLayoutOptions& options,
                           LayoutConstraints& constraints);

}  // namespace hlo
