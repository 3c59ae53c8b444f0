// Says in the module what reductions of narrow floats by several operations mean: they carry
// f32 and round once (lib/eval/wide_region.h), which code generators need not know then.
//
//   y = bf16[] reduce(bf16[9] x, bf16[] z), dimensions={0}, to_apply=maximum(add(a, b), b)
//     =>   y = bf16[] convert(f32[] reduce(f32[9] convert(x), f32[] convert(z))), to_apply=…
//
// Requires: nothing.  Ensures: no reduction has a region of that kind, also in fusions.
// Leaves alone: sums, products and choices alone in their regions, several arrays, reduce-window.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class ReductionWidener final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kExact;
  ReductionWidener();
};

}  // namespace hlo
