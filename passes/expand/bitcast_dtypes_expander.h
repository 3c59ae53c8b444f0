// Writes bitcast-converts between widths as shifts.
//
//   r = u8[n,4] bitcast-convert(f32[n] x)
//     =>   r = u8[n,4] convert(u32[n,4] broadcast of x's bits >> 8 * (0, 1, 2, 3) & 255)
//
//   r = f16[n] bitcast-convert(u8[n,2] x)
//     =>   r = the bits of u16[n] convert(x[:, 0]) | u16[n] convert(x[:, 1]) << 8
//
// A predicate is its byte.
//
// Requires: nothing.  Ensures: outside fusion bodies, bitcast-converts keep the number of
// dimensions, but for those below.
// Leaves alone: complex numbers, what becomes predicates, widths above 64 bits, dynamic shapes.
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
