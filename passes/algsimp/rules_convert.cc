// Rules rooted at convert, bitcast-convert, complex, real, imag, constant and iota.
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// Whether every value of `from` is one of `to`.
bool Fits(ElementType from, ElementType to) {
  if (from == to) return true;
  if (IsInteger(from) && IsInteger(to)) {
    if (IsSigned(from) == IsSigned(to)) return BitWidth(from) <= BitWidth(to);
    return IsUnsigned(from) && BitWidth(from) < BitWidth(to);
  }
  if (from == ElementType::kPred) return IsInteger(to) || IsFloat(to);
  const auto wide = [](ElementType type) {
    return type == ElementType::kF32 || type == ElementType::kF64;
  };
  if (IsFloat(from) && wide(to)) return BitWidth(from) < BitWidth(to);
  // Eight bits have at most five of exponent and three of mantissa, except for pure exponents.
  if (IsFloat(from) && BitWidth(from) == 8 && from != ElementType::kF8E8M0FNU)
    return to == ElementType::kF16;
  return false;
}

// convert(convert(x))  =>  x, when the type in between holds every value
Instruction* ConvertBack(Instruction* convert, Rewriter&) {
  Instruction* x;
  if (!Match(convert, m::Convert(m::Convert(m::Any(&x))))) return nullptr;
  const ElementType type = x->shape().element_type();
  if (type != convert->shape().element_type()) return nullptr;
  return Fits(type, convert->operand(0)->shape().element_type()) ? x : nullptr;
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
  // Widths x -> y -> z go in one step when no bits are split and joined differently.
  const int last_x = size(x);
  const int last_z = size(op);
  const int rank = x->shape().rank() - op->shape().rank();
  if ((last_x == last_z) != (rank == 0) || (last_x < last_z) != (rank == 1)) return nullptr;
  return rewriter.BitcastConvert(x, op->shape());
}

Instruction* BitcastConvertToSame(Instruction* op, Rewriter&) {
  return Compatible(op->operand(0)->shape(), op->shape()) ? op->operand(0) : nullptr;
}

// bitcast-convert(concatenate(bitcast-convert(x), …))  =>  concatenate(x, …)
Instruction* BitcastConvertOfConcat(Instruction* op, Rewriter& rewriter) {
  Instruction* concat = op->operand(0);
  if (concat->opcode() != Opcode::kConcatenate || !SameDimensions(concat->shape(), op->shape()))
    return nullptr;
  std::vector<Instruction*> parts;
  for (Instruction* part : concat->operands()) {
    if (part->opcode() != Opcode::kBitcastConvert ||
        part->operand(0)->shape().element_type() != op->shape().element_type() ||
        !SameDimensions(part->operand(0)->shape(), part->shape()))
      return nullptr;
    parts.push_back(part->operand(0));
  }
  return rewriter.Op(Opcode::kConcatenate, parts, concat->attrs_ptr());
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

// A constant of equal elements  =>  broadcast;  0, 1, 2, …  =>  iota;  0, s, 2s, …  =>  iota * s
Instruction* ConstantPattern(Instruction* constant, Rewriter& rewriter) {
  const Shape shape = constant->shape();
  if (!shape.IsArray() || shape.element_count() <= 1 || constant->literal().is_elided())
    return nullptr;
  const Literal& literal = constant->literal();
  if (literal.IsUniform())
    return rewriter.Broadcast(rewriter.Constant(literal.ElementAt(0)), shape.dims(), {});
  const ElementType type = shape.element_type();
  if (shape.rank() != 1 || !(IsInteger(type) || IsFloat(type)) || literal.GetDouble(0) != 0 ||
      !literal.IsZeroBits(0))
    return nullptr;
  const double step = literal.GetDouble(1);
  Literal expected(shape);
  for (int64_t i = 1; i < literal.element_count(); ++i) {
    if (IsInteger(type)) {
      if (literal.GetInt(i) != i * literal.GetInt(1)) return nullptr;
    } else {
      expected.SetDouble(i, static_cast<double>(i) * step);
      if (literal.GetDouble(i) != static_cast<double>(i) * step ||
          expected.GetDouble(i) != literal.GetDouble(i))
        return nullptr;
    }
  }
  Instruction* iota = rewriter.Iota(shape, 0);
  if (step == 1) return iota;
  return rewriter.Multiply(
      iota, rewriter.Broadcast(rewriter.Constant(literal.ElementAt(1)), shape.dims(), {}));
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
    {"constant-pattern", Opcode::kConstant, kExact, ConstantPattern},
    {"iota-of-one", Opcode::kIota, kExact, IotaOfOne},
};

}  // namespace

std::span<const Rule> ConvertRules() { return kConvertRules; }

}  // namespace hlo::algsimp
