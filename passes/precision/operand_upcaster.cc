#include "passes/precision/operand_upcaster.h"

#include "lib/ops/shape_helpers.h"
#include "passes/util/library_product.h"

namespace hlo {

ElementType NaturalResultType(const Instruction& product) {
  return HigherPrecision(product.operand(0)->shape().element_type(),
                         product.operand(1)->shape().element_type());
}

bool OperandUpcaster::Matches(const Instruction& instruction) const {
  const ElementType result = instruction.shape().element_type();
  if (instruction.operand(0)->shape().element_type() == result &&
      instruction.operand(1)->shape().element_type() == result)
    return false;
  if (options_.leave_library_products && IsLibraryProduct(instruction)) return false;
  return HigherPrecision(NaturalResultType(instruction), result) == result;
}

absl::StatusOr<Instruction*> OperandUpcaster::Expand(Instruction* instruction, Rewriter& rewriter) {
  const ElementType type = instruction->shape().element_type();
  std::vector<Instruction*> operands = instruction->operand_vector();
  for (Instruction*& operand : operands) {
    if (operand->shape().element_type() == type) continue;
    operand = rewriter.Convert(operand, type);
    PassOnFrontendAttributes(*instruction, operand);
  }
  Instruction* product = rewriter.OpWithShape(instruction->opcode(), instruction->shape(), operands,
                                              instruction->attrs_ptr());
  PassOnWork(*instruction, product);
  return product;
}

HLO_DEFINE_PASS(OperandUpcaster)

}  // namespace hlo
