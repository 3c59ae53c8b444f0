// Convolves booleans as numbers.
//
//   c = pred[1,6,4] convolution(pred x, pred k)      =>   pred convert(f16 convolution(f16 convert(x), f16 convert(k)))
//
// A sum of zeros and ones is zero exactly where none of them is one; it may overflow to infinity,
// which is true as well.
//
// Requires: nothing.  Ensures: no convolution of pred is left outside of fusion bodies.
// Leaves alone: convolutions of one pred operand only.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ConvolutionPredExpander final : public ExpanderPass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* conv, Rewriter& rewriter) override;
};

}  // namespace hlo
