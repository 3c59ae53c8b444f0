// Gives scatters one simple form: the indices are [number of updates, size of an index vector], and
// the updates are [number of updates, slice of the operand].
//
//   s = scatter(f32[8,5] x, s32[3] i, f32[3,5] u), update_window_dims={1}, inserted_window_dims={0}, …
//       =>   s = scatter(x, s32[3,1] reshape(i), f32[3,1,5] reshape(u)), update_window_dims={1,2}, inserted_window_dims={}, …
//
// One update of scalars is what the computation makes of them; no scatter is left.
//
// Requires: nothing.  Ensures: scatters outside fusion bodies, but those below, have that form; a
// second run changes nothing.
// Leaves alone: scatters with batching dimensions, dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ScatterSimplifier final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* scatter, Rewriter& rewriter) override;
};

}  // namespace hlo
