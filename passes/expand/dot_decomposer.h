// Brings dots into canonical form: batch dimensions first, at most one free and exactly one
// contracting dimension per operand.
//
//   d = f32[2,3,7] dot(f32[2,3,5] x, f32[5,7] y), lhs_contracting_dims={2}, rhs_contracting_dims={0}
//       =>   c = f32[6,7] dot(reshape(transpose(x)), reshape(transpose(y))), …
//            d = f32[2,3,7] reshape(c)
//
// Transposes and reshapes are made even if they do nothing: `algsimp` removes them. A dot without
// contracting dimensions gets one of size 1. Batch sizes follow the listed order of the batch
// dimensions on both sides (XLA's text of the reshape mixes two orders).
//
// Requires: nothing.  Ensures: each operand of each dot of bounded sizes is (batch…, free,
// contracting) or (batch…, contracting, free), without the free dimension where it has one element.
// A dimension made of several is dynamic if one of them is.
// Leaves alone: dots in that form, sizes without a bound, fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class DotDecomposer final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kExceptSpecials;  // a sum of one -0 is 0

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;
};

}  // namespace hlo
