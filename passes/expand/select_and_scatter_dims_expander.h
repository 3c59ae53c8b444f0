// Writes select-and-scatter in XLA's form: a reduce-window that carries, for each window, the
// selected element and its position along each dimension, and a scatter of the source to these
// positions.
//
//   y = f32[4,6] select-and-scatter(x, s, i), window={size=2x2 stride=2x2}, select=ge, scatter=add
//     =>
//   w = (f32[2,3], s32[2,3], s32[2,3]) reduce-window(x, iota0, iota1, i, -1, -1), window={size=2x2 stride=2x2}
//   p = s32[2,3,2] concatenate(reshape(w[1]), reshape(w[2])), dimensions={2}
//   y = f32[4,6] scatter(broadcast(i), p, s), to_apply=add
//
// The select computation is inlined into the one that picks. Windows that lie in the padding give
// the position -1, which is written nowhere.
//
// Requires: nothing.  Ensures: no `select-and-scatter` outside fusion bodies, but on operands
// without dimensions or with dynamic ones.
#pragma once

#include "passes/expander.h"

namespace hlo {

class SelectAndScatterDimsExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kSelectAndScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
