// Lets products read what a widening conversion reads.
//
//   s32[4,5] dot(s32[4,3] convert(s8[4,3] x), s32[3,5] convert(s8[3,5] y))      =>   s32[4,5] dot(x, y)
//
// The product still sums in the type of its result. Between the conversion and the product may be
// reshapes, transposes, slices, dynamic-slices, gathers and reductions over dimensions of size 1,
// which become reshapes; what else reads them reads them as before.
//
// Requires: nothing.  Ensures: no dot or convolution reads a conversion to a type that holds every
// number of the source.
// Leaves alone: results of an integer type that does not.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

class ConvertOperandFolding final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return kMatrixProducts; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* product, Rewriter& rewriter) override;
};

}  // namespace hlo
