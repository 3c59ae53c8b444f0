// Writes windows over arrays of one dimension as windows over two.
//
//   r = f32[3] reduce-window(x, 0), window={size=4 stride=3 pad=1_1}, to_apply=add
//     =>   c = f32[10,1] reshape(x)
//          s = f32[3,1] reduce-window(c, 0), window={size=4x1 stride=3x1 pad=1_1x0_0}, to_apply=add
//          r = f32[3] reshape(s)
//
// Requires: nothing.  Ensures: no reduce-window over one dimension, but of dynamic shapes and of
// mixed types, and in fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ReduceWindowResizer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduceWindow}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce_window, Rewriter& rewriter) override;
};

}  // namespace hlo
