// Takes what a device has anyway, where it would gather from all and keep its own part.
//
//   g = f32[8] all-gather(f32[4] x), dimensions={0}
//   s = f32[4] dynamic-slice(g, place in the group * 4)       =>   s = x
//
// Requires: nothing.  Leaves alone: gathers of several arrays; parts of others, parts along another
// dimension.
#pragma once

#include "passes/expander.h"

namespace hlo {

class AllGatherDynamicSliceSimplifier final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kDynamicSlice}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* slice, Rewriter& rewriter) override;
};

}  // namespace hlo
