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
  return rewriter.Multiply(rewriter.ConstantLike(number, width), number);
}

// A predicate is a byte.
int WidthOf(ElementType type) { return IsPred(type) ? 8 : BitWidth(type); }

ElementType WordOf(ElementType type) { return *UnsignedOfWidth(WidthOf(type)); }

// The parts of `x`, each a value of `type`, in a last dimension.
Instruction* SplitInto(Instruction* x, ElementType type, Shape result, Rewriter& rewriter) {
  const int width = WidthOf(type);
  std::vector<int64_t> dimensions;
  for (int i = 0; i < x->shape().rank(); ++i) dimensions.push_back(i);
  Instruction* words = rewriter.Broadcast(x, result.dims(), dimensions);
  words = BitsAs(words, WordOf(x->shape().element_type()), rewriter);
  words = rewriter.ShiftRightLogical(words, Shifts(words, width, rewriter));
  const double mask = static_cast<double>((uint64_t{1} << width) - 1);  // of 32 bits at most
  words = rewriter.And(words, rewriter.ConstantLike(words, mask));
  return rewriter.Convert(words, WordOf(type));
}

// `x` with its last two dimensions as one.
Instruction* WithLastMerged(Instruction* x, Rewriter& rewriter) {
  if (x->shape().rank() == 1) return x;
  DimVec sizes(x->shape().dims().begin(), x->shape().dims().end() - 1);
  sizes.back() *= x->shape().dims().back();
  return rewriter.Reshape(x, sizes);
}

// Every element `i` of `count` in the last dimension of `x`.
Instruction* Part(Instruction* x, int64_t i, int64_t count, Rewriter& rewriter) {
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  DimVec starts(limits.size(), 0), strides(limits.size(), 1);
  starts.back() = i;
  limits.back() += i + 1 - count;
  strides.back() = count;
  return rewriter.Slice(x, starts, limits, strides);
}

// The values of `type` that the parts in the last dimension of `x` make up.
Instruction* Join(Instruction* x, ElementType type, Rewriter& rewriter) {
  const ElementType part_type = x->shape().element_type();
  const int64_t count = x->shape().dim(x->shape().rank() - 1);
  const int rank = x->shape().rank();
  if (IsFloat(part_type)) x = BitsAs(x, WordOf(part_type), rewriter);
  Instruction* parts = WithLastMerged(x, rewriter);
  Instruction* joined = nullptr;
  for (int64_t i = 0; i < count; ++i) {
    Instruction* part = BitsAs(Part(parts, i, count, rewriter), WordOf(part_type), rewriter);
    part = rewriter.Convert(part, WordOf(type));
    if (i > 0) {
      const auto shift = static_cast<double>(i * WidthOf(part_type));
      part = rewriter.ShiftLeft(part, rewriter.ConstantLike(part, shift));
    }
    joined = joined == nullptr ? part : rewriter.Or(joined, part);
  }
  return rank == 1 ? rewriter.Reshape(joined, {}) : joined;
}

}  // namespace

bool BitcastDtypesExpander::Matches(const Instruction& instruction) const {
  const Shape from = instruction.operand(0)->shape(), to = instruction.shape();
  for (const Shape& shape : {from, to}) {
    const ElementType type = shape.element_type();
    if (IsComplex(type) || shape.has_dynamic_dims() || !UnsignedOfWidth(WidthOf(type)))
      return false;
  }
  // A byte other than 0 and 1 would not get through a conversion of equal widths.
  return !IsPred(to.element_type()) && WidthOf(from.element_type()) != WidthOf(to.element_type());
}

absl::StatusOr<Instruction*> BitcastDtypesExpander::Expand(Instruction* convert,
                                                           Rewriter& rewriter) {
  Instruction* x = convert->operand(0);
  const ElementType type = convert->shape().element_type();
  Instruction* result = WidthOf(x->shape().element_type()) > WidthOf(type)
                            ? SplitInto(x, type, convert->shape(), rewriter)
                            : Join(x, type, rewriter);
  return BitsAs(result, type, rewriter);
}

HLO_DEFINE_PASS(BitcastDtypesExpander)

}  // namespace hlo
