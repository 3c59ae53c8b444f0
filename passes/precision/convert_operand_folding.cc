#include "passes/precision/convert_operand_folding.h"

#include "lib/analysis/region.h"
#include "passes/util/holds_every.h"

namespace hlo {
namespace {

constexpr OpcodeSet kPassedThrough = {Opcode::kDynamicSlice, Opcode::kGather, Opcode::kReshape,
                                      Opcode::kTranspose, Opcode::kSlice};

// A reduction over dimensions of size 1, which changes nothing else.
bool IsReshape(const Instruction& reduce) {
  return reduce.opcode() == Opcode::kReduce && reduce.operand_count() == 2 &&
         reduce.shape().element_count() == reduce.operand(0)->shape().element_count() &&
         !reduce.shape().IsZeroSized() &&
         IsIdentityOf(CombinerOpcode(*reduce.to_apply()).value_or(Opcode::kCall),
                      *reduce.operand(1));
}

// The conversion that loses nothing that `operand` is, by way of movement; null if there is none.
const Instruction* WideningBelow(const Instruction* operand) {
  while ((kPassedThrough.Has(operand->opcode()) || IsReshape(*operand)) &&
         !operand->has_control_edges())
    operand = operand->operand(0);
  if (operand->opcode() != Opcode::kConvert || operand->has_control_edges()) return nullptr;
  const ElementType from = operand->operand(0)->shape().element_type();
  return HoldsEvery(operand->shape().element_type(), from) ? operand : nullptr;
}

bool IsFoldable(const Instruction& product, int i) {
  const Instruction* convert = WideningBelow(product.operand(i));
  if (convert == nullptr) return false;
  const ElementType from = convert->operand(0)->shape().element_type();
  const ElementType result = product.shape().element_type();
  // (Products in a narrower float are rounded in any case.)
  return from != convert->shape().element_type() &&
         (HoldsEvery(result, from) || IsFloat(result) || IsComplex(result));
}

// `operand` without the conversion below it.
Instruction* WithoutConversion(Instruction* operand, Builder& builder) {
  if (operand->opcode() == Opcode::kConvert) return operand->operand(0);
  Instruction* source = WithoutConversion(operand->operand(0), builder);
  const Shape shape = operand->shape().WithElementType(source->shape().element_type());
  if (operand->opcode() == Opcode::kReduce)
    return builder.OpWithShape(Opcode::kReshape, shape, {source});
  std::vector<Instruction*> operands = operand->operand_vector();
  operands[0] = source;
  return operand->parent()->AddClone(*operand, shape, operands);
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
      operands[static_cast<size_t>(i)] = WithoutConversion(product->operand(i), rewriter);
  }
  Instruction* narrow =
      rewriter.OpWithShape(product->opcode(), product->shape(), operands, product->attrs_ptr());
  if (!product->backend_config().empty())
    narrow->mutable_extras().backend_config = std::string(product->backend_config());
  return narrow;
}

HLO_DEFINE_PASS(ConvertOperandFolding)

}  // namespace hlo
