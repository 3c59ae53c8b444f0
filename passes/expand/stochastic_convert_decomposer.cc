#include "passes/expand/stochastic_convert_decomposer.h"

#include <cmath>

namespace hlo {
namespace {

// An array of the dimensions of `x`, all elements being `value`.
Instruction* FilledLike(Rewriter& b, const Instruction& x, Literal value) {
  Instruction* const scalar = b.Constant(std::move(value));
  return x.shape().rank() == 0 ? scalar : b.Broadcast(scalar, x.shape().dims(), {});
}

}  // namespace

absl::StatusOr<Instruction*> StochasticConvertDecomposer::Expand(Instruction* convert,
                                                                 Rewriter& b) {
  Instruction *x = convert->operand(0), *random = convert->operand(1);
  const ElementType type = x->shape().element_type();
  const ElementType bits = random->shape().element_type();
  const ElementType to = convert->shape().element_type();
  Instruction* sign = b.Sign(x);
  Instruction* is_negative = b.Compare(sign, b.ZeroLike(sign), ComparisonDirection::kLt);
  Instruction* size = b.Abs(x);
  Instruction* whole = b.Floor(size);
  Instruction* fraction = b.Subtract(size, whole);
  // f16 does not hold 2^16.
  if (type == ElementType::kF16) fraction = b.Convert(fraction, ElementType::kF32);
  Instruction* scaled =
      b.Multiply(fraction, b.ConstantLike(fraction, std::ldexp(1.0, BitWidth(bits))));
  Instruction* up = b.Compare(random, b.Convert(scaled, bits), ComparisonDirection::kLt);
  Instruction* truncated = b.Convert(whole, to);
  Instruction* rounded = b.Select(up, b.Add(truncated, b.ConstantLike(truncated, 1)), truncated);
  Instruction* result = b.Select(is_negative, b.Negate(rounded), rounded);
  const double limit = std::ldexp(1.0, BitWidth(to) - 1);
  Instruction* is_min = b.Compare(x, b.ConstantLike(x, -limit), ComparisonDirection::kLe);
  result = b.Select(is_min, FilledLike(b, *convert, Literal::MinValue(to)), result);
  // A type that does not hold the largest number holds the next one.
  Instruction* is_max = b.Compare(x, b.ConstantLike(x, limit - 1), ComparisonDirection::kGe);
  return b.Select(is_max, FilledLike(b, *convert, Literal::MaxValue(to)), result);
}

HLO_DEFINE_PASS(StochasticConvertDecomposer)

}  // namespace hlo
