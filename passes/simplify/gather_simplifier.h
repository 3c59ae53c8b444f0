// Gives gathers one simple form: the indices are [number of slices, size of an index vector], and
// the result is [number of slices, slice…].
//
//   g = f32[3,6] gather(f32[5,6] x, s32[3] i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, …
//       =>   c = f32[3,1,6] gather(x, s32[3,1] reshape(i)), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, …
//            g = f32[3,6] reshape(c)
//
// Transposes and reshapes around it are made only where they do something. Gathers from a scalar
// are broadcasts of it, those of empty slices zeros.
//
// Requires: nothing.  Ensures: gathers outside fusion bodies, but those below, have that form; a
// second run changes nothing.
// Leaves alone: gathers with batching dimensions, dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class GatherSimplifier final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kGather}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* gather, Rewriter& rewriter) override;
};

}  // namespace hlo
