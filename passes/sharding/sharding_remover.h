// Puts operands in the place of the custom calls that say how values are divided.
//
//   y = f32[8] custom-call(x), custom_call_target="Sharding"      =>   y = x
//
// Requires: what they said is known to others, or not wanted.  Ensures: no call of `Sharding`,
// `SPMDFullToShardShape` or `SPMDShardToFullShape` between equal shapes is left.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ShardingRemover final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override;
};

}  // namespace hlo
