// Removes optimization barriers, which have done their work once no pass moves or merges anything
// across them.
//
//   b = (f32[4], f32[]) opt-barrier(t)      =>   t
//
// Requires: passes that barriers are meant to stop, such as cse, have run.
// Ensures: no `opt-barrier` outside fusion bodies; control edges of one are those of its operand.
#pragma once

#include "passes/expander.h"

namespace hlo {

class OptimizationBarrierExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kOptimizationBarrier}; }
  bool Matches(const Instruction& barrier) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* barrier, Rewriter& rewriter) override;
};

}  // namespace hlo
