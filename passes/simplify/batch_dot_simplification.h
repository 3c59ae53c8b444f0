// Drops batch dimensions of size 1 from dots.
//
//   d = f32[7,1,4,3] dot(x, y)      =>   d' = f32[7,4,3] dot(reshape(x), reshape(y))
//                                        d = f32[7,1,4,3] reshape(d')
//
// Requires: nothing.  Ensures: dots of the form below have no batch dimension of size 1; a second
// run changes nothing.
// Leaves alone: dots whose batch dimensions are not the leading ones in the same order on
// both sides, dots with any other number of contracting dimensions than one, dynamic
// shapes, fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class BatchDotSimplification final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;
};

}  // namespace hlo
