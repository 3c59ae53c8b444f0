#include "passes/precision/operand_converter.h"

#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

bool IsUsualF8(ElementType type) {
  return type == ElementType::kF8E4M3FN || type == ElementType::kF8E5M2;
}

// The operand that is to be converted to the type of the other; -1: none.
int NarrowOperand(const Instruction& product) {
  if (product.operand_count() != 2) return -1;
  const ElementType lhs = product.operand(0)->shape().element_type();
  const ElementType rhs = product.operand(1)->shape().element_type();
  // (The libraries multiply the two usual floats of eight bits by each other.)
  if (lhs == rhs || (IsUsualF8(lhs) && IsUsualF8(rhs))) return -1;
  return HigherPrecision(lhs, rhs) == lhs ? 1 : 0;
}

}  // namespace

bool OperandConverter::Matches(const Instruction& instruction) const {
  return NarrowOperand(instruction) >= 0;
}

absl::StatusOr<Instruction*> OperandConverter::Expand(Instruction* product, Rewriter& rewriter) {
  const int narrow = NarrowOperand(*product);
  std::vector<Instruction*> operands = product->operand_vector();
  Instruction*& operand = operands[static_cast<size_t>(narrow)];
  operand = rewriter.Convert(operand, product->operand(1 - narrow)->shape().element_type());
  PassOnFrontendAttributes(*product, operand);
  Instruction* wide =
      rewriter.OpWithShape(product->opcode(), product->shape(), operands, product->attrs_ptr());
  PassOnBackendConfig(*product, wide);
  return wide;
}

HLO_DEFINE_PASS(OperandConverter)

}  // namespace hlo
