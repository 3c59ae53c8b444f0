// How the libraries and kernels of NVIDIA's GPUs want arrays to lie.
//
//   convolutions: NCHW or NHWC (gpu_conv_layouts.h)
//   dot: batch, contracted and free dimensions each lie together, no batch dimension is minor
//   transpose(dot): the product lies so that transposing it moves nothing
//   fft, sort, TopK, send, recv, MoveToHost, MoveToDevice: row-major
//   triangular-solve: columns, as its library has them
//   bitcast-convert to another rank: the dimension that comes or goes is minor
//   reduce of at least 32 elements to one: these are minor, where nothing else is wanted
//   reduce-scatter, all-gather, all-to-all, ragged-all-to-all: what is exchanged is major
//
// One batch dimension in row-major arrays, and one free and one contracted, fit anyway: dots of
// matrices say nothing but where the entry leaves the layout of a parameter open.
#pragma once

#include "passes/layout/layout_constraints.h"
#include "passes/util/cuda_capability.h"

namespace hlo {

struct GpuLayoutOptions {
  CudaCapability compute_capability;
  bool force_conv_nchw = false;
  bool force_conv_nhwc = false;
  // Dots read what was made of elements below a byte along the contracted dimensions.
  bool pack_dot_operands_along_k_dimension = true;
};

// As XLA:GPU has it, users before what they use, so that the first product or convolution of the
// program is the first that others follow.
void AddGpuPreferences(const Computation& computation, const GpuLayoutOptions& options,
                       LayoutConstraints& constraints);

}  // namespace hlo
