// Brings the parts together where they are wanted, where each device would gather all, add zeros
// at one end, and cut out a piece that holds all that was gathered, or zeros only.
//
//   g = f32[4] all-gather(f32[2] x), dimensions={0}
//   p = f32[12] pad(g, zero), padding=0_8
//   s = f32[6] dynamic-slice(p, replica * 6)
//       =>   c = f32[2] collective-permute(x), source_target_pairs={{1,0}}
//            w = f32[6] concatenate(x, c, broadcast(zero))
//            s = f32[6] select(broadcast(replica * 6 == 0), w, broadcast(zero))
//
// Requires: nothing.  Leaves alone: padding with other values, at both ends, of other dimensions or
// between elements; pieces smaller than what is gathered, or with some of it; groups in which
// several devices take it; gathers of several arrays, that others read, too, or in modules with
// replicas and partitions; starts that are not known for each device.
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
