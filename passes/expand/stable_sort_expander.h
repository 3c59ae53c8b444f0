// Writes stable sorts as sorts that do not promise stability: equal elements are ordered
// by their position.
//
//   s = s32[9] sort(x), is_stable=true, to_apply={ lt(a, b) }
//       =>   t = (s32[9], s32[9]) sort(x, iota), to_apply={ r = lt(a, b)  q = lt(b, a)  ROOT select(r == q, i < j, r) }
//            s = gte(t, 0)
//
// An operand that is an s32 iota along the sorted dimension already gives the position;
// otherwise one is added.
//
// Requires: nothing.  Ensures: no sort outside fusion bodies has `is_stable`.
// Leaves alone: dynamic shapes. Rows longer than 2^31 - 1 are an error. Comparators that others
// call are copied first.
#pragma once

#include "passes/expander.h"

namespace hlo {

class StableSortExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kSort}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* sort, Rewriter& rewriter) override;
};

}  // namespace hlo
