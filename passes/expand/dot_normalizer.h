// Gives products that contract nothing a contracted dimension of size 1.
//
//   d = f32[3,2,4] dot(f32[3,2] x, f32[3,4] y), lhs_batch_dims={0}, rhs_batch_dims={0}
//       =>   d = f32[3,2,4] dot(f32[3,2,1] bitcast(x), f32[3,4,1] bitcast(y)), lhs_batch_dims={0}, lhs_contracting_dims={2},
//                rhs_batch_dims={0}, rhs_contracting_dims={2}
//
// Requires: nothing.  Ensures: each dot of dense operands of static shapes contracts at
// least one dimension.
// Leaves alone: dots that do, sparse operands, dynamic shapes, fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class DotNormalizer final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kExceptSpecials;  // a sum of one -0 is 0
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;
};

}  // namespace hlo
