// Pads and slices where cuDNN does not: it takes paddings that are even and not negative, and no
// dilation but in gradients and of kernels.
//
//   c = custom-call(x, w), window={size=3x3 pad=1_2x0_0}, custom_call_target="__cudnn$convForward"
//     =>   p = pad(x, 0), padding=0_0x0_0x1_2x0_0
//          c = custom-call(p, w), window={size=3x3}
//
//   forward (convForward, convBiasActivationForward, convForwardGraph)
//                     the input is padded (uneven padding, holes of a dilation) or sliced (negative
//                     padding); where either is done the kernel gets the holes of its dilation
//   gradient of the kernel      the input is padded by what is more on one side
//   gradient of the input       the smaller padding is that of both sides, the result is sliced
//
// Convolutions that say what they are for (`convolution_kind`) are treated in the same way. Theirs
// is the window of the convolution as it is written; of a gradient of the input that counts which
// cuDNN is going to be told (conv_windows.h):
//
//   d = convolution(g, w), window={size=3 pad=1_0}, …, convolution_kind=dgrad     its own: 1_2
//     =>   e = convolution(g, w), window={size=3 pad=1_1}, …, convolution_kind=dgrad     1_1
//          d = slice(e)
//
// Requires: calls of conv-rewriter, without workspaces. Ensures: paddings of these are even, but
// where a gradient's are negative.
// Leaves alone: what is even, not negative and not dilated but in its kernel; convolutions without
// a kind, sparse or dynamic ones; paddings that leave less than nothing; other custom calls.
#pragma once

#include "passes/expander.h"

namespace hlo {

class ConvPaddingLegalization final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kExceptSpecials;  // 0 times infinity

 protected:
  OpcodeSet Roots() const override { return {Opcode::kConvolution, Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* conv, Rewriter& rewriter) override;
};

}  // namespace hlo
