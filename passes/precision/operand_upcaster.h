// Gives dots and convolutions whose result is wider than their operands operands of
// the result's type.
//
//   d = s32[4,3] dot(s8[4,5] x, s8[5,3] y)      =>   d = s32[4,3] dot(s32[4,5] convert(x), s32[5,3] convert(y))
//
// Wider means: the type that wins where it meets what the operands give: complex numbers before
// floats before integers, more range, more digits, more bits, signed numbers. The results are the
// same: they were asked for in that type.
//
// With `leave_library_products` matrix products stay that NVIDIA's libraries take as they are.
// (XLA:CPU leaves dots alone that its library computes; ours knows of none.)
//
// Requires: nothing.  Leaves alone: results that are not wider than what the operands give
// (`result_caster` is for those), fusion bodies.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

struct OperandUpcasterOptions {
  bool leave_library_products = false;

  HLO_OPTIONS(OperandUpcasterOptions, leave_library_products)
};

class OperandUpcaster final : public WithOptions<ExpanderPass, OperandUpcasterOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return kMatrixProducts; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

// The element type that a dot or convolution has when none is asked for.
ElementType NaturalResultType(const Instruction& product);

}  // namespace hlo
