// Takes what a device has anyway, where it would gather from all and keep its own part.
//
//   g = f32[8] all-gather(f32[4] x), dimensions={0}
//   s = f32[4] dynamic-slice(g, place in the group * 4)       =>   s = x
//
// With `allow_intervening_reshape` a reshape may stand between the two that leaves the gathered
// dimension as it is.
//
// Options as in XLA's Config; `min_rank` counts dimensions of other sizes than 1. Of no consequence
// are `allow_multiple_split_dims` (a gather makes one) and `allow_intervening_bitcast` (the slice
// is looked for right after the gather or the reshape).
//
// Requires: nothing.  Leaves alone: gathers of several arrays and, without `allow_multiple_users`,
// such that others read, too; parts of others, parts along another dimension.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct AllGatherDynamicSliceSimplifierOptions {
  bool allow_multiple_split_dims = false;
  bool allow_intervening_reshape = true;
  int64_t min_rank = 1;
  bool allow_intervening_bitcast = false;
  bool allow_multiple_users = false;

  HLO_OPTIONS(AllGatherDynamicSliceSimplifierOptions, allow_multiple_split_dims,
              allow_intervening_reshape, min_rank, allow_intervening_bitcast, allow_multiple_users)
};

class AllGatherDynamicSliceSimplifier final
    : public WithOptions<ExpanderPass, AllGatherDynamicSliceSimplifierOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDynamicSlice}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* slice, Rewriter& rewriter) override;
};

}  // namespace hlo
