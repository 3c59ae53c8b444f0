// Sends one part, where a device would gather all and keep that of another.
//
//   g = f32[8] all-gather(f32[4] x), dimensions={0}
//   s = f32[4] dynamic-slice(g, (1 - replica) * 4)
//       =>   s = f32[4] collective-permute(x), source_target_pairs={{1,0},{0,1}}
//
// Requires: nothing.  Leaves alone: parts that several devices take, own parts
// (all-gather-dynamic-slice-simplifier); gathers of several arrays, that others read, too, or in
// modules with replicas and partitions; starts that are not known for each device.
#pragma once

#include "passes/expander.h"

namespace hlo {

class AllGatherToCollectivePermuteSimplifier final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kDynamicSlice}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* slice, Rewriter& rewriter) override;
};

}  // namespace hlo
