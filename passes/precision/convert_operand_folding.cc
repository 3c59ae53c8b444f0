#include "passes/precision/convert_operand_folding.h"

#include "passes/precision/operand_upcaster.h"

namespace hlo {
namespace {

constexpr OpcodeSet kPassedThrough = {Opcode::kBroadcast, Opcode::kReshape, Opcode::kTranspose,
                                      Opcode::kSlice, Opcode::kReverse};

// The widening conversion that `operand` is, by way of movement; null if there is none.
const Instruction* WideningBelow(const Instruction* operand) {
  while (kPassedThrough.Has(operand->opcode()) && operand->use_count() == 1 &&
         !operand->has_control_edges())
    operand = operand->operand(0);
  if (operand->opcode() != Opcode::kConvert || operand->has_control_edges()) return nullptr;
  const ElementType from = operand->operand(0)->shape().element_type();
  const ElementType to = operand->shape().element_type();
  return from != to && CanUpcast(from, to) ? operand : nullptr;
}

bool IsFoldable(const Instruction& product, int i) {
  const Instruction* convert = WideningBelow(product.operand(i));
  return convert != nullptr &&
         CanUpcast(convert->operand(0)->shape().element_type(), product.shape().element_type());
}

// `operand` without the conversion below it.
Instruction* WithoutConversion(Instruction* operand) {
  if (operand->opcode() == Opcode::kConvert) return operand->operand(0);
  Instruction* source = WithoutConversion(operand->operand(0));
  return operand->parent()->AddClone(
      *operand, operand->shape().WithElementType(source->shape().element_type()), {source});
}

}  // namespace

bool ConvertOperandFolding::Matches(const Instruction& instruction) const {
  return instruction.operand_count() == 2 &&
         (IsFoldable(instruction, 0) || IsFoldable(instruction, 1));
}

absl::StatusOr<Instruction*> ConvertOperandFolding::Expand(Instruction* product,
                                                           Rewriter& rewriter) {
  std::vector<Instruction*> operands = product->operand_vector();
  for (int i = 0; i < 2; ++i) {
    if (IsFoldable(*product, i))
      operands[static_cast<size_t>(i)] = WithoutConversion(product->operand(i));
  }
  Instruction* narrow =
      rewriter.OpWithShape(product->opcode(), product->shape(), operands, product->attrs_ptr());
  if (!product->backend_config().empty())
    narrow->mutable_extras().backend_config = std::string(product->backend_config());
  return narrow;
}

HLO_DEFINE_PASS(ConvertOperandFolding)

}  // namespace hlo
