// Numbers the dimensions of what is reduced by their place in memory.
//
//   r = f32[8]{0} reduce(f32[4,8]{0,1} x, 0), dimensions={0}
//       =>   r = f32[8]{0} reduce(f32[8,4]{1,0} bitcast(x), 0), dimensions={1}
//
// The results lie where they lay; where their dimensions have other numbers, bitcasts follow.
//
// Requires: layouts, the same for all inputs of one reduction (an error else).  Ensures: inputs of
// reductions are row-major.  Leaves alone: dynamic inputs.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ReductionLayoutNormalizer final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
