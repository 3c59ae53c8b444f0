// Computes products of f32 by sums of products of bf16 or tf32, where the dot asks for such an
// algorithm.
//
//   r = f32[m,n] dot(x, y), algorithm=dot_bf16_bf16_f32_x3
//     =>   x = xh + xl, y = yh + yl, in bf16
//          r = number(dot(xl, yh) + dot(xh, yl)) + dot(xh, yh), algorithm=dot_bf16_bf16_f32
//
// x6 splits in three and leaves out the products of the two smaller parts with the smallest one,
// x9 leaves out none. dot_tf32_tf32_f32_x3 splits into what tf32 holds (10 bits after the point)
// and the rest, all in f32.
// `xh` is x with its low 16 bits cleared, the next part that of the rest, and the last the rest
// rounded; the products are summed in f32, from the smallest to the largest. Where the sum of the
// small products is NaN it counts as 0 (`number`): an infinite x or y leaves NaN for the rest,
// which x * y does not have.
//
// Requires: nothing.  Ensures: outside fusion bodies no dot of f32 has the algorithm x3, x6 or x9.
// Leaves alone: other algorithms, other types.
#pragma once

#include "passes/expander.h"

namespace hlo {

class DotAlgorithmRewriter final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;
};

}  // namespace hlo
