// Rewrites dots that a library for products would compute with more memory than they need.
//
//   t = transpose(dot(a, b)), which exchanges the free dimensions of a and b   =>   dot(b, a)
//   dot(f32[8] x, f32[4] y) without contracting dimensions
//       =>   multiply(broadcast(x), broadcast(y)), which becomes part of a loop
//
// Two rules of `algsimp` (rules_transpose.cc, rules_dot.cc), alone.
//
// Requires: nothing.
// Leaves alone: dots with other readers than the transpose; transposes that move batch dimensions;
// products with an `algorithm`, of pred, or of floats with integers; dynamic shapes.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class DotSimplifier final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  DotSimplifier();
};

}  // namespace hlo
