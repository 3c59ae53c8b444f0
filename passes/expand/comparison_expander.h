// Writes comparisons of floats in total order as comparisons of integers.
//
//   compare(x, y), direction=LT, type=TOTALORDER
//       =>   compare(i(x), i(y)), direction=LT      where i(x) = b < 0 ? ~b without the sign : b,  b = bitcast-convert(x)
//
// Ensures: no comparison of type TOTALORDER of floats of 8, 16, 32 or 64 bits outside fusion
// bodies.  Leaves alone: other widths.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ComparisonExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kCompare}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* compare, Rewriter& rewriter) override;
};

}  // namespace hlo
