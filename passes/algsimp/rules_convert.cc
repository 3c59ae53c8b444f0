// Rules rooted at convert, bitcast-convert, complex, real, imag, constant and iota.
#include <algorithm>

#include "passes/algsimp/rules.h"
#include "passes/util/holds_every.h"

namespace hlo::algsimp {
namespace {

// convert(convert(x))  =>  x, when the type in between holds every value
Instruction* ConvertBack(Instruction* convert, Rewriter&) {
  Instruction* x;
  if (!Match(convert, m::Convert(m::Convert(m::Any(&x))))) return nullptr;
  const ElementType type = x->shape().element_type();
  if (type != convert->shape().element_type()) return nullptr;
  return HoldsEvery(convert->operand(0)->shape().element_type(), type) ? x : nullptr;
}

Instruction* ConvertToSame(Instruction* convert, Rewriter&) {
  Instruction* x = convert->operand(0);
  return x->shape().element_type() == convert->shape().element_type() ? x : nullptr;
}

// convert_T(op(convert_U(a), convert_U(b)))  =>  op(a, b), for integers a and b of type T
Instruction* ConvertNarrows(Instruction* convert, Rewriter& rewriter) {
  Instruction* op = convert->operand(0);
  const ElementType narrow = convert->shape().element_type();
  const ElementType wide = op->shape().element_type();
  const bool ring = op->opcode() == Opcode::kAdd || op->opcode() == Opcode::kSubtract ||
                    op->opcode() == Opcode::kMultiply;
  const bool quotient = op->opcode() == Opcode::kDivide || op->opcode() == Opcode::kRemainder;
  if (!ring && !(quotient && IsUnsigned(narrow))) return nullptr;
  if (!IsInteger(narrow) || !IsInteger(wide) || IsSigned(narrow) != IsSigned(wide) ||
      IsSubByte(narrow) || BitWidth(narrow) >= BitWidth(wide) || !op->has_one_user())
    return nullptr;
  Instruction* from[2];
  for (int i = 0; i < 2; ++i) {
    Instruction* widened = op->operand(i);
    if (widened->opcode() != Opcode::kConvert || !widened->has_one_user() ||
        widened->operand(0)->shape().element_type() != narrow)
      return nullptr;
    from[i] = widened->operand(0);
  }
  return rewriter.Op(op->opcode(), {from[0], from[1]});
}

// bitcast-convert(bitcast-convert(x))  =>  bitcast-convert(x), or x
Instruction* BitcastConvertChain(Instruction* op, Rewriter& rewriter) {
  Instruction* x;
  if (!Match(op, m::BitcastConvert(m::BitcastConvert(m::Any(&x))))) return nullptr;
  if (Compatible(x->shape(), op->shape())) return x;
  const auto size = [](const Instruction* v) { return BitWidth(v->shape().element_type()); };
  // Widths x -> y -> z go in one step when no bits are split and joined differently, and none are
  // split twice.
  const int last_x = size(x);
  const int last_z = size(op);
  const int rank = x->shape().rank() - op->shape().rank();
  if (rank != (last_x < last_z) - (last_x > last_z)) return nullptr;
  return rewriter.BitcastConvert(x, op->shape());
}

Instruction* BitcastConvertToSame(Instruction* op, Rewriter&) {
  return Compatible(op->operand(0)->shape(), op->shape()) ? op->operand(0) : nullptr;
}

// bitcast-convert(concatenate(bitcast-convert(x), …))  =>  concatenate(x, …)
Instruction* BitcastConvertOfConcat(Instruction* op, Rewriter& rewriter) {
  Instruction* concat = op->operand(0);
  if (concat->opcode() != Opcode::kConcatenate) return nullptr;
  const auto dim = static_cast<int>(concat->attrs<ConcatenateAttrs>().dimensions.value);
  if (dim >= op->shape().rank()) return nullptr;
  std::vector<Instruction*> parts;
  int64_t size = 0;
  for (Instruction* part : concat->operands()) {
    if (part->opcode() != Opcode::kBitcastConvert) return nullptr;
    Instruction* x = part->operand(0);
    if (x->shape().element_type() != op->shape().element_type() ||
        x->shape().rank() != op->shape().rank())
      return nullptr;
    for (int i = 0; i < x->shape().rank(); ++i) {
      if (i != dim && x->shape().dim(i) != op->shape().dim(i)) return nullptr;
    }
    size += x->shape().dim(dim);
    parts.push_back(x);
  }
  if (size != op->shape().dim(dim) || op->shape().has_dynamic_dims()) return nullptr;
  return rewriter.OpWithShape(Opcode::kConcatenate, op->shape(), parts, concat->attrs_ptr());
}

// Whether elements lie in as many bits as they have: those of less than a byte may take one each,
// extended by their sign.
bool LiesDense(Shape shape) {
  const ElementType type = shape.element_type();
  return !IsSubByte(type) || shape.layout().element_size_in_bits == BitWidth(type);
}

// bitcast-convert(x) that moves no bit  =>  bitcast(x)
Instruction* BitcastConvertToBitcast(Instruction* convert, Rewriter& rewriter) {
  Instruction* x = convert->operand(0);
  const Shape from = x->shape();
  const Shape to = convert->shape();
  if (!from.has_layout() || !to.has_layout() || !from.layout().tiles.empty() ||
      !to.layout().tiles.empty() || from.has_dynamic_dims() || to.has_dynamic_dims() ||
      !LiesDense(from) || !LiesDense(to))
    return nullptr;
  if (from.rank() == to.rank())
    return from.layout() == to.layout() ? rewriter.Bitcast(x, to) : nullptr;
  // One more dimension, which must be the most minor one.
  const Shape longer = from.rank() > to.rank() ? from : to;
  const auto& order = longer.layout().minor_to_major;
  const auto& others = (from.rank() > to.rank() ? to : from).layout().minor_to_major;
  return order[0] == longer.rank() - 1 &&
                 std::equal(order.begin() + 1, order.end(), others.begin(), others.end())
             ? rewriter.Bitcast(x, to)
             : nullptr;
}

// complex(real(c), imag(c))  =>  c
Instruction* ComplexOfParts(Instruction* op, Rewriter&) {
  Instruction* c;
  return Match(op, m::Complex(m::Real(m::Any(&c)), m::Imag(m::Same(&c)))) &&
                 c->shape().element_type() == op->shape().element_type()
             ? c
             : nullptr;
}

// real(complex(r, i))  =>  r; real of what has no imaginary part  =>  itself
Instruction* RealOf(Instruction* op, Rewriter&) {
  Instruction* r;
  if (Match(op, m::Real(m::Complex(m::Any(&r), m::Any())))) return r;
  return IsComplex(op->operand(0)->shape().element_type()) ? nullptr : op->operand(0);
}
Instruction* ImagOf(Instruction* op, Rewriter& rewriter) {
  Instruction* i;
  if (Match(op, m::Imag(m::Complex(m::Any(), m::Any(&i))))) return i;
  return IsComplex(op->operand(0)->shape().element_type()) ? nullptr : rewriter.ZeroLike(op);
}

Instruction* TupleOfConstants(const Literal& literal, Rewriter& rewriter) {
  if (!literal.shape().IsTuple()) return rewriter.Constant(literal);
  std::vector<Instruction*> elements;
  for (const Literal& element : literal.elements())
    elements.push_back(TupleOfConstants(element, rewriter));
  return rewriter.Tuple(elements);
}

// A constant tuple  =>  tuple of constants
Instruction* ConstantTuple(Instruction* constant, Rewriter& rewriter) {
  if (!constant->shape().IsTuple() || constant->literal().is_elided()) return nullptr;
  return TupleOfConstants(constant->literal(), rewriter);
}

// Whether the elements are 0, 1, 2, …, as the type rounds them.
bool Counts(const Literal& literal) {
  const ElementType type = literal.element_type();
  // The zero bits of f8e8m0fnu are no zero.
  if (type == ElementType::kPred || type == ElementType::kF8E8M0FNU || !literal.IsZeroBits(0))
    return false;
  Literal number(Shape::Scalar(type));
  for (int64_t i = 1; i < literal.element_count(); ++i) {
    if (IsInteger(type)) {
      if (literal.GetInt(i) != i) return false;
    } else {
      number.SetComplex(0, static_cast<double>(i));
      if (literal.GetComplex(i) != number.GetComplex(0)) return false;
    }
  }
  return true;
}

// A constant of equal elements  =>  broadcast;  0, 1, 2, …  =>  iota;  0, s, 2s, …  =>  iota * s,
// for integers
Instruction* ConstantPattern(Instruction* constant, Rewriter& rewriter) {
  const Shape shape = constant->shape();
  if (!shape.IsArray() || shape.element_count() <= 1 || constant->literal().is_elided())
    return nullptr;
  const Literal& literal = constant->literal();
  if (literal.IsUniform())
    return BroadcastLike(rewriter, rewriter.Constant(literal.ElementAt(0)), constant);
  if (shape.rank() != 1) return nullptr;
  if (Counts(literal)) return rewriter.Iota(shape, 0);
  if (!IsInteger(shape.element_type()) || !literal.IsZeroBits(0)) return nullptr;
  const int64_t step = literal.GetInt(1);
  for (int64_t i = 1; i < literal.element_count(); ++i) {
    if (literal.GetInt(i) != i * step) return nullptr;
  }
  Instruction* iota = rewriter.Iota(shape, 0);
  return rewriter.Multiply(
      iota, BroadcastLike(rewriter, rewriter.Constant(literal.ElementAt(1)), constant));
}

// iota of one element  =>  0
Instruction* IotaOfOne(Instruction* iota, Rewriter& rewriter) {
  const int64_t size = iota->shape().dim(static_cast<int>(iota->attrs<IotaAttrs>().iota_dimension));
  return size <= 1 ? rewriter.ZeroLike(iota) : nullptr;
}

constexpr Rule kConvertRules[] = {
    {"convert-to-same", Opcode::kConvert, kExact, ConvertToSame},
    {"convert-back", Opcode::kConvert, kExact, ConvertBack},
    {"convert-narrows", Opcode::kConvert, kExact, ConvertNarrows},
    {"bitcast-convert-to-same", Opcode::kBitcastConvert, kExact, BitcastConvertToSame},
    {"bitcast-convert-chain", Opcode::kBitcastConvert, kExact, BitcastConvertChain},
    {"bitcast-convert-of-concatenate", Opcode::kBitcastConvert, kExact, BitcastConvertOfConcat},
    {"complex-of-parts", Opcode::kComplex, kExact, ComplexOfParts},
    {"real-of", Opcode::kReal, kExact, RealOf},
    {"imag-of", Opcode::kImag, kExact, ImagOf},
    {"constant-tuple", Opcode::kConstant, kExact, ConstantTuple},
    {"constant-pattern", Opcode::kConstant, kExact, ConstantPattern},
    {"iota-of-one", Opcode::kIota, kExact, IotaOfOne},
};
constexpr Rule kBitcastConvertToBitcastRules[] = {
    {"bitcast-convert-to-bitcast", Opcode::kBitcastConvert, kExact, BitcastConvertToBitcast},
};

}  // namespace

std::span<const Rule> ConvertRules() { return kConvertRules; }
std::span<const Rule> BitcastConvertToBitcastRules() { return kBitcastConvertToBitcastRules; }

}  // namespace hlo::algsimp
