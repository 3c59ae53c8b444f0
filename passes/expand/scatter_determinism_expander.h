// Writes scatters whose result depends on the order of updates such that it does not.
//
//   scatter(x, i, u), to_apply=add
//     =>   (i', u') = stable sort by index;   sums of updates of one index, in log2(n) steps;
//          scatter(x, i', sums), unique_indices=true, only the last one of each index being inside
//
// Updates of one element are combined in their order, in a tree: floats are rounded otherwise than
// one by one. Windows become single elements with the index of their own.
//
// Requires: nothing.  Ensures: no scatter of repeated indices adds or multiplies floats, or
// overwrites, but those below.
// Leaves alone: unique indices; integers and operations that do not round; other combiners; several
// arrays at once; batching dimensions (`batched_gather_scatter_normalizer`); dynamic shapes;
// arrays of 2^31 elements or more.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ScatterDeterminismExpander final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* scatter, Rewriter& rewriter) override;
};

}  // namespace hlo
