// Writes stochastic-convert as arithmetic.
//
//   s = s32[4] stochastic-convert(f32[4] x, u32[4] random)
//     =>   t = truncated |x|;   r = u32 convert((|x| - t) * 2^32);   s = ±(s32 convert(t) + (random < r))
//
// NaN becomes 0, what is out of range the largest or smallest number.
//
// Requires: nothing.  Ensures: no stochastic-convert to real numbers is left outside of fusion
// bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class StochasticConvertDecomposer final : public ExpanderPass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kStochasticConvert}; }
  bool Matches(const Instruction& convert) const override {
    return !IsComplex(convert.shape().element_type());
  }
  absl::StatusOr<Instruction*> Expand(Instruction* convert, Rewriter& rewriter) override;
};

}  // namespace hlo
