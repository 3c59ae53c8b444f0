// Puts reductions that read the same array into one kernel, with the loop that makes the array; and
// loops over as many elements, of one width, that read the same array.
//
//   e = f32[m,n] fusion(x), kind=kLoop            t = (f32[m,n], f32[m], f32[m]) fusion(x), kind=kInput
//   s = f32[m] reduce(e, zero)             =>     e = get-tuple-element(t), index=0
//   q = f32[m] fusion(e), kind=kInput             s = get-tuple-element(t), index=1   …
//
// The array is read once, or not at all where it is made. Reductions belong together when they
// reduce the same dimensions of arrays of the same dimensions, and none of them needs
// another's result.
//
//   q = f32[h,m,n] fusion(x), kind=kLoop          t = (f32[h,m,n], f32[h,m,n]) fusion(x), kind=kLoop
//   k = f32[h,m,n] fusion(x), kind=kLoop   =>     q = get-tuple-element(t), index=0   …
//
// Requires: reductions are the roots of their kernels (gpu-fusion). Ensures: joint
// fusions have a tuple for root. Left alone: reductions of few elements, which have a thread for
// each result; those of several operands; loops of many operations, or that move the minor-most
// dimension; control edges.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct GpuMultiOutputFusionOptions {
  int64_t max_members = 8;
  HLO_OPTIONS(GpuMultiOutputFusionOptions, max_members)
};

class GpuMultiOutputFusion final : public WithOptions<Pass, GpuMultiOutputFusionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
