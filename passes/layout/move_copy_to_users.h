// Moves copies between layouts to after the operations that read them, where fewer elements may be
// left to copy and copies may meet.
//
//   c = f32[4,8]{1,0} copy(f32[4,8]{0,1} x)         n = f32[4,8]{0,1} negate(x)
//   n = f32[4,8]{1,0} negate(c)               =>    s = f32[2,8]{0,1} slice(n), …
//   s = f32[2,8]{1,0} slice(n), …                   c = f32[2,8]{1,0} copy(s)
//
//   reduce(copy(x), z)   =>   reduce(x, z)
//
// So for pad, slice, dynamic-slice, reverse, reduce-window, operations on one array's elements, on
// two arrays' elements if both are copies of arrays of one shape, and concatenations of copies that
// all lie alike.
//
// Requires: layouts.  Ensures: no such operation reads such copies. The copy stays where others
// read it, too.
// Leaves alone: copies to another memory space or tiling, copies with control edges; variadic
// reductions; reduce-precision, bitcast-convert, select, clamp; bodies of fusions.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class MoveCopyToUsers final : public RewritePass {
 public:
  // Windows and reductions may be summed up in another order.
  static constexpr RuleSafety kSafety = kReassociate;
  MoveCopyToUsers();
};

}  // namespace hlo
