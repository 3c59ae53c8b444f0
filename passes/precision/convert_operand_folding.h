// Lets products read what a widening conversion reads.
//
//   s32[4,5] dot(s32[4,3] convert(s8[4,3] x), s32[3,5] convert(s8[3,5] y))      =>   s32[4,5] dot(x, y)
//
// The product still sums in the type of its result. Between the conversion and the product may be
// broadcasts, reshapes, transposes and slices that nothing else reads.
//
// Requires: nothing.  Ensures: no dot or convolution reads a widening conversion of one kind of
// numbers.
// Leaves alone: conversions of floats to integers and the like; a result narrower than the
// conversion.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ConvertOperandFolding final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot, Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* product, Rewriter& rewriter) override;
};

}  // namespace hlo
