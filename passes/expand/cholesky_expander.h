// Writes cholesky as loops over columns and matrix products.
//
//   l = f32[9,9] cholesky(a), lower=true     =>   l = f32[9,9] call(a), to_apply=xla.cholesky_f32_9_9_lower
//
// By blocks of `block_size` columns, from the left:
//
//   p = a[i:, i:i+k] - l[i:, :i] · conj(l[i:i+k, :i])ᵀ           // what the columns before leave
//   d = factor of p[:k], column by column in a loop
//   l[i:i+k, i:i+k] = d,  l[i+k:, i:i+k] = p[k:] · inverse(conj(d)ᵀ)
//
// The last one is a triangular-solve: run `triangular_solve_expander` after. `lower=false` is the
// transpose of the factor of the transpose. Where a pivot is the root of a negative number or of
// NaN, the whole matrix becomes NaN. What is not of the triangle is 0.
//
// Requires: nothing.  Ensures: no cholesky outside fusion bodies, but on dynamic shapes.
// Rounding differs from that of other orders. Products are of the highest precision.
#pragma once

#include "passes/expand/outlining_expander.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct CholeskyExpanderOptions {
  IntIn<1> block_size{128};

  HLO_OPTIONS(CholeskyExpanderOptions, block_size)
};

class CholeskyExpander final : public WithOptions<OutliningExpander, CholeskyExpanderOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  Opcode Root() const override { return Opcode::kCholesky; }
  bool Matches(const Instruction& instruction) const override;
  std::string Name(const Instruction& cholesky) const override;
  absl::StatusOr<Instruction*> Build(const Instruction& cholesky,
                                     const std::vector<Instruction*>& operands,
                                     Builder& builder) const override;
};

}  // namespace hlo
