// Brings convolutions into the order that CPU libraries compute in: batch, spatial dimensions,
// features; kernels: spatial, input, output features.
//
//   r = convolution(x, k), dim_labels=bf01_oi01->bf01
//       =>   c = convolution(transpose(x), transpose(k)), dim_labels=b01f_01io->b01f;   r = transpose(c)
//
// Left alone are those that a library can take as they are: f16 or f32, one to three spatial
// dimensions in that order, not reversed, no array empty or smaller than 16 bytes. All others are
// rewritten, even if the transposes permute nothing: `algsimp` removes them.
//
// Requires: `convolution-group-converter` before it, where groups are to go.  Leaves alone:
// computations but the entry.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvolutionCanonicalization final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

// Whether a CPU library can take the convolution as it is.
bool IsLibraryConvolution(const Instruction& convolution);

}  // namespace hlo
