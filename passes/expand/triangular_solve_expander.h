// Writes triangular-solve as matrix products.
//
//   x = triangular-solve(a, b), left_side=true, lower=true     =>   x = call(a, b), to_apply=xla.triangular_solve_…
//
// Every case becomes "lower triangular, from the left" first, by transposing, conjugating and
// reversing. Then, with blocks of `block_size` rows:
//
//   inv_j = inverse of the j-th block on the diagonal      // all blocks at once, row
//                                                          by row in a loop
//   x_j = inv_j · (b_j - a[j, :j] · x[:j])                 // block by block, unrolled
//
// Small systems in large batches (a smaller than block_size / 4, more than block_size / 16 of them)
// are solved row by row without a loop; of 1x1 matrices, x = b / a.
//
// Requires: nothing.  Ensures: no triangular-solve outside fusion bodies, but on dynamic shapes.
// Rounding differs from that of substitution. Products are of the highest precision.
#pragma once

#include "passes/expand/outlining_expander.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct TriangularSolveExpanderOptions {
  IntIn<1> block_size{128};

  HLO_OPTIONS(TriangularSolveExpanderOptions, block_size)
};

class TriangularSolveExpander final
    : public WithOptions<OutliningExpander, TriangularSolveExpanderOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  Opcode Root() const override { return Opcode::kTriangularSolve; }
  bool Matches(const Instruction& instruction) const override;
  std::string Name(const Instruction& solve) const override;
  absl::StatusOr<Instruction*> Build(const Instruction& solve,
                                     const std::vector<Instruction*>& operands,
                                     Builder& builder) const override;
};

}  // namespace hlo
