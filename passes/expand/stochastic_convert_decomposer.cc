#include "passes/expand/stochastic_convert_decomposer.h"

#include <cmath>

namespace hlo {
namespace {

// An array of the dimensions of `x`, all elements being `value`.
Instruction* FilledLike(Rewriter& b, const Instruction& x, Literal value) {
  return b.Broadcast(b.Constant(std::move(value)), x.shape().dims(), {});
}

}  // namespace

absl::StatusOr<Instruction*> StochasticConvertDecomposer::Expand(Instruction* convert,
                                                                 Rewriter& b) {
  Instruction *x = convert->operand(0), *random = convert->operand(1);
  const ElementType type = x->shape().element_type();
  const ElementType bits = random->shape().element_type();
  const ElementType to = convert->shape().element_type();
  const double scale = std::ldexp(1.0, BitWidth(bits));
  // |x| in a type that holds the scaled fraction.
  const bool is_narrow = BitWidth(type) < 32;
  Instruction* size = b.Abs(is_narrow ? b.Convert(x, ElementType::kF32) : x);
  Instruction* whole = b.Floor(size);
  Instruction* fraction = b.Multiply(b.Subtract(size, whole), b.ConstantLike(size, scale));
  Instruction* up = b.Compare(random, b.Convert(fraction, bits), ComparisonDirection::kLt);
  Instruction* rounded = b.Add(b.Convert(whole, to), b.Convert(up, to));
  Instruction* is_negative = b.Compare(x, b.ZeroLike(x), ComparisonDirection::kLt);
  Instruction* max = FilledLike(b, *convert, Literal::MaxValue(to));
  Instruction* min = FilledLike(b, *convert, Literal::MinValue(to));
  // A sum beyond the largest number wraps to a negative one.
  Instruction* limit = b.ConstantLike(size, std::ldexp(1.0, BitWidth(to) - 1));
  Instruction* is_large = b.Or(b.Compare(whole, limit, ComparisonDirection::kGe),
                               b.Compare(rounded, b.ZeroLike(rounded), ComparisonDirection::kLt));
  Instruction* result = b.Select(is_large, b.Select(is_negative, min, max),
                                 b.Select(is_negative, b.Negate(rounded), rounded));
  Instruction* is_number = b.Compare(x, x, ComparisonDirection::kEq);
  return b.Select(is_number, result, b.ZeroLike(result));
}

HLO_DEFINE_PASS(StochasticConvertDecomposer)

}  // namespace hlo
