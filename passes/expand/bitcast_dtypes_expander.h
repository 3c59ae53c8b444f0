// Writes bitcast-converts between widths as shifts.
//
//   r = u8[n,4] bitcast-convert(f32[n] x)    =>   words = u32[n,4] broadcast of x's bits
//                                                 r = u8[n,4] convert(words >> 8 * (0, 1, 2, 3))
//
//   r = f32[n] bitcast-convert(u8[n,4] x)    =>   r = the bits of reduce(u32[n,4] convert(x) << 8 * (0, 1, 2, 3), or)
//
// Requires: nothing.  Ensures: outside fusion bodies, bitcast-converts keep the number of
// dimensions, but for those below.
// Leaves alone: complex numbers and pred, widths above 64 bits, dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class BitcastDtypesExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kBitcastConvert}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* convert, Rewriter& rewriter) override;
};

}  // namespace hlo
