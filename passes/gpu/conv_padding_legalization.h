// Pads and slices where cuDNN does not: it takes paddings that are even and not negative, and no
// dilation but in gradients.
//
//   c = custom-call(x, w), window={size=3x3 pad=1_2x0_0}, custom_call_target="__cudnn$convForward"
//     =>   p = pad(x, 0), padding=0_0x0_0x1_2x0_0
//          c = custom-call(p, w), window={size=3x3}
//
//   forward           the input is padded (uneven padding, holes of a dilation) or sliced (negative
//                     padding); the kernel gets the holes of its dilation
//   gradient of the kernel      the input is padded by what is more on one side
//   gradient of the input       the smaller padding is that of both sides, the result is sliced
//
// Requires: calls of conv-rewriter, without workspaces. Ensures: paddings of these calls are even,
// but where a gradient's are negative.
// Leaves alone: what is even, not negative and not dilated; other custom calls.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ConvPaddingLegalization final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kExceptSpecials;  // 0 times infinity

 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override;
};

}  // namespace hlo
