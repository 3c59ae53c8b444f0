// Writes the inversion of a permutation as a scatter.
//
//   s = (f32[8], s32[8]) sort(x, iota), …              // p = gte(s, 1): a permutation of 0 … 7
//   t = (s32[8], f32[8]) sort(p, v), to_apply={<}
//       =>   t = tuple(iota, f32[8] scatter(0, s32[8,1] reshape(p), v), …)
//
// Sorted in ascending order a permutation is 0, 1, 2, …, and each value goes where its key says.
// Arrays of several dimensions get the places in the other dimensions from iotas.
//
// Requires: nothing.
// Leaves alone: keys that are not the result of a sort of an iota of integers along the same
// dimension, or whose numbers do not all fit the type; sorts of more or fewer arrays; comparators
// other than that the first key is less than the second; dynamic arrays.
#pragma once

#include "passes/expander.h"

namespace hlo {

class PermutationSortExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kSort}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* sort, Rewriter& rewriter) override;
};

}  // namespace hlo
