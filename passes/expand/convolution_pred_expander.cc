#include "passes/expand/convolution_pred_expander.h"

namespace hlo {

bool ConvolutionPredExpander::Matches(const Instruction& instruction) const {
  return instruction.operand_count() == 2 && IsPred(instruction.shape().element_type()) &&
         IsPred(instruction.operand(0)->shape().element_type()) &&
         IsPred(instruction.operand(1)->shape().element_type());
}

absl::StatusOr<Instruction*> ConvolutionPredExpander::Expand(Instruction* conv, Rewriter& b) {
  Instruction* sums =
      b.OpWithShape(Opcode::kConvolution, conv->shape().WithElementType(ElementType::kF16),
                    {b.Convert(conv->operand(0), ElementType::kF16),
                     b.Convert(conv->operand(1), ElementType::kF16)},
                    conv->attrs_ptr());
  PassOnWork(*conv, sums);
  return b.Convert(sums, ElementType::kPred);
}

HLO_DEFINE_PASS(ConvolutionPredExpander)

}  // namespace hlo
