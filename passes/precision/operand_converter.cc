#include "passes/precision/operand_converter.h"

#include "passes/precision/operand_upcaster.h"
#include "passes/util/same_kind.h"

namespace hlo {
namespace {

// The operand that is to be converted to the type of the other; -1: none.
int NarrowOperand(const Instruction& product) {
  if (product.operand_count() != 2) return -1;
  const ElementType lhs = product.operand(0)->shape().element_type();
  const ElementType rhs = product.operand(1)->shape().element_type();
  if (lhs == rhs) return -1;
  if (CanUpcast(lhs, rhs)) return 0;
  return CanUpcast(rhs, lhs) ? 1 : -1;
}

}  // namespace

bool OperandConverter::Matches(const Instruction& instruction) const {
  return NarrowOperand(instruction) >= 0;
}

absl::StatusOr<Instruction*> OperandConverter::Expand(Instruction* product, Rewriter& rewriter) {
  const int narrow = NarrowOperand(*product);
  std::vector<Instruction*> operands = product->operand_vector();
  operands[static_cast<size_t>(narrow)] = rewriter.Convert(
      product->operand(narrow), product->operand(1 - narrow)->shape().element_type());
  Instruction* wide =
      rewriter.OpWithShape(product->opcode(), product->shape(), operands, product->attrs_ptr());
  if (!product->backend_config().empty())
    wide->mutable_extras().backend_config = std::string(product->backend_config());
  return wide;
}

HLO_DEFINE_PASS(OperandConverter)

}  // namespace hlo
