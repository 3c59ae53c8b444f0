// Lets cuBLAS solve triangular systems.
//
//   x = f32[2,4,3] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
//     =>   c = (f32[2,4,3], s8[32]) custom-call(a, b), custom_call_target="__cublas$triangularSolve",
//                backend_config={"left_side":true,"lower":true,…}
//          x = get-tuple-element(c), index=0
//
// The second value is for the addresses of the matrices of a batch, 16 bytes for each.
//
// Requires: nothing.  Ensures: no triangular-solve outside of fusions, but of dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class TriangularSolveRewriter final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kTriangularSolve}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* solve, Rewriter& rewriter) override;
};

}  // namespace hlo
