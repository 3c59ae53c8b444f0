// Makes one dimension of neighbouring reduced ones.
//
//   r = f32[] reduce(f32[10,20,30] x, 0), dimensions={0,1,2}
//       =>   r = f32[] reduce(f32[6000] bitcast(x), 0), dimensions={0}
//
// Requires: row-major inputs (`reduction-layout-normalizer`).  Ensures: no two reduced dimensions
// of such an input are neighbours.  Leaves alone: inputs with other layouts, dynamic ones.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ReductionDimensionGrouper final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
