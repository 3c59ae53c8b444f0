// Gathers by reducing: each device puts its part into a larger array, and these are added.
//
//   g = f32[8] all-gather(f32[4] x), dimensions={0}
//     =>   u = f32[8] dynamic-update-slice(broadcast(-0), x, multiply(replica-id, 4))
//          g = f32[8] all-reduce(u), to_apply=add
//
// For back ends that have no all-gather. The place in the group is the id itself where there is
// one group of all in order, else it is looked up in a table of constants. `pred` is combined by
// `or`, floats start with -0: what is added to it stays as it is.
//
// Requires: nothing.  Ensures: no all-gather is left but those of dynamic shapes, in fusion bodies,
// and asynchronous ones.
#pragma once

#include "passes/expander.h"

namespace hlo {

class AllGatherDecomposer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kAllGather}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* gather, Rewriter& rewriter) override;
};

}  // namespace hlo
