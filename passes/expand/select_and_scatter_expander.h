// Writes select-and-scatter as a reduce-window that finds, in each window, the selected element and
// its place, and a scatter of the source to these places.
//
//   y = f32[4] select-and-scatter(x, s, i), window={size=2 stride=2}, select=ge, scatter=add
//     =>
//   w = (f32[2], s32[2]) reduce-window(x, iota, i, -1), window={size=2 stride=2}, to_apply=pick
//   y = f32[4] scatter(broadcast(i), w[1], s), to_apply=add
//
// Places are numbers of elements of the flattened operand, s32 where they fit, else s64. The select
// computation is called from the picking one: run `call-inliner` after. (XLA's pass,
// `select_and_scatter_expander`, carries one place per dimension; this form is faster on the CPU.)
// Ensures: no `select-and-scatter` outside fusion bodies, but on operands without dimensions or
// with dynamic ones.
#pragma once

#include "passes/expander.h"

namespace hlo {

class SelectAndScatterExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kSelectAndScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
