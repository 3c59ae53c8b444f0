// Makes one loop of two that read the same array and yield arrays of the same shape.
//
//   a = f32[n] fusion(x), kind=kLoop, calls={ negate(p) }
//   b = f32[n] fusion(x), kind=kLoop, calls={ exponential(p) }
//     =>   t = (f32[n], f32[n]) fusion(x), kind=kLoop, calls={ tuple(exponential(p), negate(p)) }
//          b = f32[n] get-tuple-element(t), index=0
//          a = f32[n] get-tuple-element(t), index=1
//
// Pairs that share the most bytes go first; of two loops the later one takes in the earlier one,
// unless only the earlier one has several outputs. An elementwise instruction that is not fused yet
// can be taken in.
//
// Requires: nothing.  Ensures: dead computations are removed if anything was fused.
// Leaves alone: loops of which one needs the other; other shapes or layouts; loops of
// `max_operands` operands; dots and scatters; loops that update the same operand in place; several
// outputs that are read as a whole; control edges and shardings; computations that run per element
// or asynchronously. Not found are pairs whose shared operand has 128 users between them, or that
// stand thousands of instructions apart.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct CpuMultiOutputFusionOptions {
  int64_t max_operands = 20;

  HLO_OPTIONS(CpuMultiOutputFusionOptions, max_operands)
};

class CpuMultiOutputFusion final : public WithOptions<Pass, CpuMultiOutputFusionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
