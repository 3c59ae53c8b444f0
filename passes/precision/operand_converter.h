// Gives both operands of a product the wider of their types.
//
//   f32[4,5] dot(bf16[4,3] x, f32[3,5] y)      =>   f32[4,5] dot(f32[4,3] convert(x), y)
//
// For libraries that know products of one type only.
//
// Requires: nothing.  Ensures: the operands of a dot or convolution have one element type where one
// of the two holds all values of the other.
// Leaves alone: pairs of types of which none holds the other (bf16 and f16), fusion bodies, sparse
// operands.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

class OperandConverter final : public ExpanderPass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return kMatrixProducts; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* product, Rewriter& rewriter) override;
};

}  // namespace hlo
