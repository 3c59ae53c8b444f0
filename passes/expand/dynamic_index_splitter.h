// Gives dynamic slices and their updates the starts as scalars.
//
//   dynamic-slice(f32[4,6] x, s32[2] i)     =>   i0 = s32[] reshape(slice(i, [0:1])), i1 = …
//                                                dynamic-slice(x, i0, i1)
//   dynamic-slice(f32[] x)                  =>   x
//   dynamic-update-slice(f32[] x, f32[] u)  =>   u
//
// Requires: nothing.  Ensures: outside fusion bodies, both opcodes have one scalar for each
// dimension, and there is one.
#pragma once

#include "passes/expander.h"

namespace hlo {

class DynamicIndexSplitter final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
