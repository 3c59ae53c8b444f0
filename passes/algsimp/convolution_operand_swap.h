// Lets the smaller operand of a convolution be its kernel.
//
//   convolution(f32[1,3,3,8] x, f32[28,28,8,4] k), window={size=28x28 pad=27_27x27_27}
//     =>   convolution(reverse(k), x), window={size=3x3 pad=2_2x2_2 rhs_reversal=1x1}
//
// A window that is larger than the input sees padding nearly everywhere: libraries multiply it all
// the same. The rule is that of `algsimp{enable_conv_operand_swap}` (rules_convolution.cc), alone.
//
// Requires: nothing.
// Leaves alone: groups, sparse operands, convolutions with a kind, dynamic shapes.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class ConvolutionOperandSwap final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;  // products are summed in another order
  ConvolutionOperandSwap();
};

}  // namespace hlo
