// Writes a window that sees the whole of one dimension from everywhere as a reduction
// of that dimension.
//
//   w = f32[32,8] reduce-window(x, z), window={size=63x1 pad=31_31x0_0}, to_apply=add
//       =>   w = broadcast(f32[8] reduce(x, z), dimensions={0}, to_apply=add), dimensions={1}
//
// An optional part of `despecializer`. Rounding may differ: the window met padding
// between the elements.
//
// Requires: nothing.  Leaves alone: several operands, windows of more than one dimension, strides,
// dilations, reversal, other sizes.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class ReduceWindowToReduce final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  ReduceWindowToReduce();
};

}  // namespace hlo
