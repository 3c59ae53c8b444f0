// Sends one part, where a device would gather all and keep that of another.
//
//   g = f32[8] all-gather(f32[4] x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true
//   s = f32[4] dynamic-slice(g, constant({1,0})[partition] * 4)
//       =>   s = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{1,0},{0,1}}
//
// Also where each device keeps its own: it is sent to itself then
// (all-gather-dynamic-slice-simplifier has come before).
//
// Requires: nothing.  Leaves alone: parts that several devices take; starts that no table says;
// gathers of several arrays, or that something else reads first; modules without partitions, or
// with several replicas, and groups of anything but devices.
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
