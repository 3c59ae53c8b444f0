#include "passes/precision/operand_upcaster.h"

#include "lib/ops/shape_rules.h"
#include "passes/util/library_product.h"
#include "passes/util/same_kind.h"

namespace hlo {

ElementType NaturalResultType(const Instruction& product) {
  const ElementType lhs = product.operand(0)->shape().element_type();
  const ElementType rhs = product.operand(1)->shape().element_type();
  return BitWidth(rhs) > BitWidth(lhs) ? rhs : lhs;
}

bool OperandUpcaster::Matches(const Instruction& instruction) const {
  const ElementType result = instruction.shape().element_type();
  const ElementType lhs = instruction.operand(0)->shape().element_type();
  const ElementType rhs = instruction.operand(1)->shape().element_type();
  if (lhs == result && rhs == result) return false;
  if (options_.leave_library_products && IsLibraryProduct(instruction)) return false;
  return CanUpcast(lhs, result) && CanUpcast(rhs, result);
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
