// Writes reshapes that move data as copies and bitcasts.
//
//   r = f32[24]{0} reshape(f32[4,6]{0,1} x)     =>   c = f32[4,6]{1,0} copy(x)
//                                                    r = f32[24]{0} bitcast(c)
//
// A reshape that moves nothing becomes a bitcast. Else the operand is copied to a layout of which
// the result is a bitcast; where there is none, a bitcast of the operand is copied; where there is
// none either, both are copied, by way of row-major order.
//
// Requires: layouts.  Ensures: no reshape outside fusion bodies, but without layouts, with tiles or
// splits, between memory spaces, or of dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ReshapeDecomposer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kReshape}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reshape, Rewriter& rewriter) override;
};

}  // namespace hlo
