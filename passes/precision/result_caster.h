// Lets dots and convolutions whose result is narrower than what their operands give compute in the wider type.
//
//   d = bf16[4,3] dot(f32[4,5] x, f32[5,3] y)      =>   d = bf16[4,3] convert(f32[4,3] dot(x, y))
//
// Requires: nothing.  Ensures: outside fusion bodies, no result has fewer bits than its operands, if all are of one kind (float, signed,
// unsigned). Floats are rounded twice then.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ResultCaster final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot, Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
