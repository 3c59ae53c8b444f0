// Lets cuDNN normalise layers: the features of each row.
//
//   y = (x - mean) · rsqrt(variance + epsilon) · scale + bias             x of f32[2,4,8]
//     =>   c = (f32[8,8,1,1], u8[…]) custom-call(reshape(x), reshape(scale), reshape(bias)),
//                custom_call_target="__cudnn$norm", backend_config={…"kind":"LAYER_FWD_INFER"…}
//          y = reshape(get-tuple-element(c, 0))
//
// (layer_norm_pattern.h says in which forms). Features are made the last dimensions by a transpose
// first where they are others. Where the factor f = rsqrt(…) is also divided by variance + epsilon,
// as for gradients, the call (LAYER_FWD_TRAIN) yields mean and factor, too, and the quotient is f³.
// Then the gradients of x and scale, and of the bias if there is one (layer_norm_gradient.h), are
// one call (LAYER_BWD) of x, scale, dy, mean and factor.
//
// Conversions of y or dx to the type of x are taken in where nobody else reads what they convert,
// those of scale and bias where these have the same type before.
//
// Option `compute_capability`: 8 and 9 have kernels; it says how much memory they work in.
//
// Requires: nothing.  Ensures: nothing.
// Leaves alone: types but bf16, f16 and f32; y of another type than x; scales of another type than
// biases; layouts that are not row-major; dynamic shapes and such without elements; control edges;
// gradients where nobody computes that of the scale, or types of dy or scale are wider than that of
// x.
#pragma once

#include "passes/util/cuda_capability.h"

namespace hlo {

struct CudnnNormRewriterOptions {
  CudaCapability compute_capability;

  HLO_OPTIONS(CudnnNormRewriterOptions, compute_capability)
};

class CudnnNormRewriter final : public WithOptions<Pass, CudnnNormRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
