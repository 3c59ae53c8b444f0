#include "passes/expand/bitcast_dtypes_expander.h"

#include "passes/util/unsigned_type.h"

namespace hlo {
namespace {

Instruction* BitsAs(Instruction* x, ElementType type, Rewriter& rewriter) {
  if (x->shape().element_type() == type) return x;
  return rewriter.BitcastConvert(x, x->shape().WithElementType(type));
}

// width * (0, 1, 2, …) along the last dimension of `words`.
Instruction* Shifts(const Instruction* words, int width, Rewriter& rewriter) {
  Instruction* number = rewriter.Iota(words->shape(), words->shape().rank() - 1);
  return rewriter.Multiply(number, rewriter.ConstantLike(number, width));
}

}  // namespace

bool BitcastDtypesExpander::Matches(const Instruction& instruction) const {
  const Shape from = instruction.operand(0)->shape(), to = instruction.shape();
  for (const Shape& shape : {from, to}) {
    const ElementType type = shape.element_type();
    if (IsPred(type) || IsComplex(type) || shape.has_dynamic_dims() ||
        !UnsignedOfWidth(BitWidth(type)))
      return false;
  }
  return BitWidth(from.element_type()) != BitWidth(to.element_type());
}

absl::StatusOr<Instruction*> BitcastDtypesExpander::Expand(Instruction* convert,
                                                           Rewriter& rewriter) {
  Instruction* x = convert->operand(0);
  const ElementType from_type = x->shape().element_type();
  const ElementType to_type = convert->shape().element_type();
  const ElementType from_bits = *UnsignedOfWidth(BitWidth(from_type));
  const ElementType to_bits = *UnsignedOfWidth(BitWidth(to_type));
  Instruction* words = BitsAs(x, from_bits, rewriter);
  if (BitWidth(from_bits) > BitWidth(to_bits)) {
    std::vector<int64_t> dimensions;
    for (int i = 0; i < x->shape().rank(); ++i) dimensions.push_back(i);
    words = rewriter.Broadcast(words, convert->shape().dims(), dimensions);
    words = rewriter.ShiftRightLogical(words, Shifts(words, BitWidth(to_bits), rewriter));
    return BitsAs(rewriter.Convert(words, to_bits), to_type, rewriter);
  }
  words = rewriter.Convert(words, to_bits);
  words = rewriter.ShiftLeft(words, Shifts(words, BitWidth(from_bits), rewriter));
  Instruction* joined =
      rewriter.Reduce(words, rewriter.Constant(Literal::Zero(to_bits)), {words->shape().rank() - 1},
                      ScalarComputation(rewriter.module(), Opcode::kOr, to_bits));
  return BitsAs(joined, to_type, rewriter);
}

HLO_DEFINE_PASS(BitcastDtypesExpander)

}  // namespace hlo
