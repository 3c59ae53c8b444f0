// Writes an all-to-all of one array as one of its parts.
//
//   r = f32[4,3] all-to-all(f32[4,3] x), replica_groups={{0,1}}, dimensions={0}
//       =>   t = (f32[2,3], f32[2,3]) all-to-all(slice(x), slice(x)), replica_groups={{0,1}}
//            r = f32[4,3] concatenate(gte(t, 0), gte(t, 1)), dimensions={0}
//
// With `decompose_to_tuple=false` the divided dimension becomes two, of which the first has one
// place per device, where the rank is below `min_array_rank`; dimensions of size 1 after them make
// up that rank.
//
// Requires: nothing.  Leaves alone: all-to-alls of several arrays, with constrained layouts, of
// dynamic shapes, with groups of unknown or different sizes or whose size does not divide the
// dimension.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct AllToAllDecomposerOptions {
  bool decompose_to_tuple = true;
  int64_t min_array_rank = 0;

  HLO_OPTIONS(AllToAllDecomposerOptions, decompose_to_tuple, min_array_rank)
};

class AllToAllDecomposer final : public WithOptions<ExpanderPass, AllToAllDecomposerOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kAllToAll}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* exchange, Rewriter& rewriter) override;
};

}  // namespace hlo
