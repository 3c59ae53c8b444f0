// Reduces several arrays between devices as one that holds them all.
//
//   r = (f32[2,2], f32[3]) all-reduce(x, y)
//       =>   c = f32[7] concatenate(bitcast(x), bitcast(y))
//            s = f32[7] all-reduce(c)
//            r = (f32[2,2], f32[3]) tuple(bitcast(slice(s)), bitcast(slice(s)))
//
// Requires: layouts.  Leaves alone: modules with an all-reduce that constrains layouts; all-reduces
// of one array, of several element types, of dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class AllReduceContiguous final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kAllReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
