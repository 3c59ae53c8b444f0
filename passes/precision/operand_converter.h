// Gives both operands of a product the wider of their types.
//
//   f32[4,5] dot(bf16[4,3] x, f32[3,5] y)      =>   f32[4,5] dot(f32[4,3] convert(x), y)
//
// For libraries that know products of one type only.
//
// Wider means more range before more digits: beside bf16, f16 is converted, and rounded.
//
// Requires: nothing.  Ensures: the operands of a dot have one element type.
// Leaves alone: f8e4m3fn beside f8e5m2, convolutions, fusion bodies, sparse operands.
#pragma once

#include "passes/expander.h"

namespace hlo {

class OperandConverter final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* product, Rewriter& rewriter) override;
};

}  // namespace hlo
