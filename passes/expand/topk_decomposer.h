// Writes `topk` and the custom call TopK as sorts.
//
//   t = (f32[4,5], s32[4,5]) topk(x), k=5, largest=true
//       =>   s = (f32[4,100], s32[4,100]) sort(x, iota), dimensions={1}, to_apply={greater, in total order}
//            t = tuple(slice(gte(s, 0)), slice(gte(s, 1)))
//
// Where only the values are read and the comparator of a custom call takes two parameters, the
// values are sorted alone. The largest elements of bf16 rows shorter than 65536 are sorted as
// single s32 numbers: order of the value above, complement of the index below.
//
// Requires: nothing.  Ensures: no `topk` and no custom call to TopK with a comparator is left
// outside fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class TopkDecomposer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kTopK, Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
