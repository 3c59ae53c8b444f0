// Brings the parts together where they are wanted, where each device would gather all, add zeros
// at one end, and cut out a piece that holds all that was gathered, or zeros only.
//
//   g = f32[4] all-gather(f32[2] x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true
//   p = f32[12] pad(g, zero), padding=0_8
//   s = f32[6] dynamic-slice(p, constant({0,6})[partition])
//       =>   c = f32[2] collective-permute(x), channel_id=2, source_target_pairs={{1,0}}
//            w = f32[6] concatenate(x, c, broadcast(zero))
//            s = f32[6] select(constant({1,0})[partition] == 1, w, broadcast(zero))
//
// Who takes it is at the same place of each group, and the devices of a group take pieces in the
// order of their numbers.
//
// Requires: nothing.  Leaves alone: padding with other values, at both ends, of other dimensions or
// between elements; pieces smaller than what is gathered, or with some of it; groups in which
// nobody takes it, or several devices start at one place; starts that no table says; gathers of
// several arrays; modules without partitions, or with several replicas, and groups of anything but
// devices.
#pragma once

#include "passes/expander.h"

namespace hlo {

class AllGatherPadDsSimplifier final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kDynamicSlice}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* slice, Rewriter& rewriter) override;
};

}  // namespace hlo
