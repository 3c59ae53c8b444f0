#include "passes/expand/comparison_expander.h"

#include <optional>

namespace hlo {
namespace {

std::optional<ElementType> SignedOfWidth(int bits) {
  if (bits == 8) return ElementType::kS8;
  if (bits == 16) return ElementType::kS16;
  if (bits == 32) return ElementType::kS32;
  if (bits == 64) return ElementType::kS64;
  return std::nullopt;
}

// Types whose one NaN has the bits that -0 has elsewhere, and comes before all numbers.
constexpr bool HasNanAtMinusZero(ElementType type) {
  return type == ElementType::kF8E4M3B11FNUZ || type == ElementType::kF8E4M3FNUZ ||
         type == ElementType::kF8E5M2FNUZ;
}

}  // namespace

bool ComparisonExpander::Matches(const Instruction& instruction) const {
  if (instruction.attrs<CompareAttrs>().type != ComparisonType::kTotalOrder) return false;
  const ElementType type = instruction.operand(0)->shape().element_type();
  return IsFloat(type) && instruction.operand(1)->shape().element_type() == type &&
         SignedOfWidth(BitWidth(type)).has_value();
}

absl::StatusOr<Instruction*> ComparisonExpander::Expand(Instruction* compare, Rewriter& rewriter) {
  Instruction *x = compare->operand(0), *y = compare->operand(1);
  if (HasNanAtMinusZero(x->shape().element_type())) {
    x = rewriter.Convert(x, ElementType::kF32);
    y = rewriter.Convert(y, ElementType::kF32);
  }
  const Instruction* like = x;
  const ComparisonDirection direction = compare->attrs<CompareAttrs>().direction;
  // Scales have no sign: their bits are in order.
  if (like->shape().element_type() == ElementType::kF8E8M0FNU) {
    const Shape bits = like->shape().WithElementType(ElementType::kU8);
    return rewriter.Compare(rewriter.BitcastConvert(x, bits), rewriter.BitcastConvert(y, bits),
                            direction);
  }
  const ElementType type = *SignedOfWidth(BitWidth(like->shape().element_type()));
  const auto splat = [&](Literal value) {
    return rewriter.Broadcast(rewriter.Constant(std::move(value)), like->shape().dims(), {});
  };
  Instruction* zero = splat(Literal::Zero(type));
  Instruction* largest = splat(Literal::MaxValue(type));
  const auto ordered = [&](Instruction* number) {
    Instruction* bits = rewriter.BitcastConvert(number, number->shape().WithElementType(type));
    Instruction* negative = rewriter.Compare(bits, zero, ComparisonDirection::kLt);
    return rewriter.Select(negative, rewriter.Xor(largest, bits), bits);
  };
  Instruction* lhs = ordered(x);
  Instruction* rhs = ordered(y);
  return rewriter.Compare(lhs, rhs, direction);
}

HLO_DEFINE_PASS(ComparisonExpander)

}  // namespace hlo
