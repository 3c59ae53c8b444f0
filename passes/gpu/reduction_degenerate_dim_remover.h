// Removes dimensions of size 1 from reductions.
//
//   r = f32[1] reduce(f32[100,1,1] x, 0), dimensions={0,1}
//       =>   s = f32[] reduce(f32[100] bitcast(x), 0), dimensions={0}
//            r = f32[1] bitcast(s)
//
// A reduction over such dimensions alone is a bitcast of what it reduces.
//
// Requires: layouts.  Ensures: no reduction has an input with a dimension of size 1.
// Leaves alone: reductions of several arrays of which one has no such dimension, or over such
// dimensions alone; those whose initial value would count.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ReductionDegenerateDimRemover final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kExceptSpecials;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
