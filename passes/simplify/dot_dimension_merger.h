// Makes one batch dimension of several that lie together.
//
//   dot(f32[2,3,4,5] a, f32[2,3,5,6] b), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, …
//     =>   reshape(dot(f32[6,4,5] reshape(a), f32[6,5,6] reshape(b)), lhs_batch_dims={0},
//          rhs_batch_dims={0}, …)
//
// Requires: nothing.  Ensures: the batch dimensions of a dot are one, or not all of them follow
// each other, in both operands and in the same order.
// Leaves alone: dynamic shapes, sparse operands, batch dimensions in different places, layouts
// under which they do not lie together; fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class DotDimensionMerger final : public ExpanderPass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;
};

}  // namespace hlo
