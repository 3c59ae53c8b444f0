// Lets dots, and with `convolutions` convolutions, read the operand of a transpose: only their
// dimension numbers change.
//
//   a = f32[5,3] transpose(y), dimensions={1,0}
//   d = dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//       =>   d = dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
//
// Requires: nothing.  Ensures: no operand of a dot of the form below is a transpose. What
// nobody reads any more is left to `dce`.
// Leaves alone: dots of transposes that permute nothing; dots of vectors; with `any_transpose` off
// (the default) dots whose operand does not have all batch dimensions, one contracting and one free
// one, and transposes that move batch dimensions; fusion bodies.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

struct TransposeFoldingOptions {
  bool dots = true;
  bool convolutions = false;
  bool any_transpose = false;  // into dots, but for the order of what is kept

  HLO_OPTIONS(TransposeFoldingOptions, dots, convolutions, any_transpose)
};

class TransposeFolding final : public WithOptions<ExpanderPass, TransposeFoldingOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return kMatrixProducts; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;

 private:
  bool Folds(const Instruction& instruction, int i) const;
};

}  // namespace hlo
