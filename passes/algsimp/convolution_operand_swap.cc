#include "passes/algsimp/convolution_operand_swap.h"

#include "passes/algsimp/rules.h"

namespace hlo {

ConvolutionOperandSwap::ConvolutionOperandSwap()
    : RewritePass(this, algsimp::ConvolutionSwapRules()) {}

HLO_DEFINE_PASS(ConvolutionOperandSwap)

}  // namespace hlo
