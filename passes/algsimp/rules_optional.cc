// Rules that only options switch on.
#include <algorithm>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// conditional(convert(p), x, y), branch_computations={f, g}  =>  conditional(p, y, x),
//     true_computation=g, false_computation=f
Instruction* ConditionalOnPred(Instruction* conditional, Rewriter& rewriter) {
  const Instruction* index = conditional->operand(0);
  if (conditional->call_count() != 2 || index->opcode() != Opcode::kConvert ||
      index->operand(0)->shape().element_type() != ElementType::kPred ||
      index->shape().element_type() != ElementType::kS32)
    return nullptr;
  return rewriter.OpWithShape(Opcode::kConditional, conditional->shape(),
                              {index->operand(0), conditional->operand(2), conditional->operand(1)},
                              {}, {conditional->call(1), conditional->call(0)});
}

struct FloatBits {
  int64_t exponent;
  int64_t mantissa;
};

// As XLA counts them: one bit is the sign's, also where a type has none.
std::optional<FloatBits> BitsOf(ElementType type) {
  if (!IsFloat(type)) return std::nullopt;
  int64_t mantissa = 0;
  WithNativeType(type, [&]<class T>() {
    if constexpr (kIsSmallFloat<T>) mantissa = T::kMantissaBits;
  });
  if (type == ElementType::kF32) mantissa = WideFloat<float>::kMantissaBits;
  if (type == ElementType::kF64) mantissa = WideFloat<double>::kMantissaBits;
  return FloatBits{BitWidth(type) - mantissa - 1, mantissa};
}

// reduce-precision(x) to the precision that x has  =>  x
Instruction* ReducePrecisionToSame(Instruction* reduce, Rewriter&) {
  const auto& attrs = reduce->attrs<ReducePrecisionAttrs>();
  const std::optional<FloatBits> bits = BitsOf(reduce->shape().element_type());
  if (!bits || attrs.exponent_bits != bits->exponent || attrs.mantissa_bits != bits->mantissa)
    return nullptr;
  return reduce->operand(0);
}

// convert(c)  =>  a constant, when it is not wider than c, has at least 8 bits, and
//     nobody else reads c
Instruction* ConvertOfConstant(Instruction* convert, Rewriter& rewriter) {
  const Instruction* constant = convert->operand(0);
  const ElementType type = convert->shape().element_type();
  if (!constant->IsConstant() || constant->literal().is_elided() || constant->use_count() != 1 ||
      !constant->shape().IsArray() || BitWidth(type) < 8 ||
      BitWidth(type) > BitWidth(constant->shape().element_type()))
    return nullptr;
  absl::StatusOr<Literal> value = constant->literal().Converted(type);
  if (!value.ok()) return nullptr;
  return rewriter.Constant(value->WithShapeLayout(convert->shape()));
}

constexpr Rule kConditionalRules[] = {
    {"conditional-on-pred", Opcode::kConditional, kExact, ConditionalOnPred}};
constexpr Rule kNoOpReducePrecisionRules[] = {
    {"reduce-precision-to-same", Opcode::kReducePrecision, kExact, ReducePrecisionToSame}};
constexpr Rule kConvertConstantRules[] = {
    {"convert-of-constant", Opcode::kConvert, kExact, ConvertOfConstant}};

}  // namespace

std::span<const Rule> ConditionalRules() { return kConditionalRules; }
std::span<const Rule> NoOpReducePrecisionRules() { return kNoOpReducePrecisionRules; }
std::span<const Rule> ConvertConstantRules() { return kConvertConstantRules; }

}  // namespace hlo::algsimp
