// Lets reductions keep the order of what they keep.
//
//   r = f32[3,5]{0,1} reduce(f32[3,4,5]{2,1,0} x, z), dimensions={1}
//     =>   f32[3,5]{0,1} copy(f32[3,5]{1,0} reduce(x, z))
//
// Kernels of reductions write their result as their input lies; a copy does the rest, after the
// conversion if that is the only one that reads the result. Of several inputs those that lie
// otherwise than the first are copied, too.
//
// Requires: layouts.  Ensures: the dimensions of a reduction's result lie in the order in which
// they lie in each input.
// Leaves alone: fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ReduceDecomposer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
