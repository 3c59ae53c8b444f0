// Rules rooted at multiply, divide and remainder.
#include <cmath>
#include <complex>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

bool IsConst(const Instruction& x) { return IsConstantOrSplat(&x); }

// x * 1  =>  x
Instruction* MultiplyOne(Instruction* multiply, Rewriter&) {
  Instruction* x;
  return Match(multiply, m::MultiplyAnyOrder(m::Any(&x), m::One())) ? x : nullptr;
}

// x * 0  =>  0
Instruction* MultiplyZero(Instruction* multiply, Rewriter&) {
  Instruction* zero;
  return Match(multiply, m::MultiplyAnyOrder(m::Any(), m::Zero(&zero))) ? zero : nullptr;
}
Instruction* MultiplyZeroInt(Instruction* multiply, Rewriter& rewriter) {
  return IsIntegral(multiply) ? MultiplyZero(multiply, rewriter) : nullptr;
}

// (-a) * (-b)  =>  a * b
Instruction* MultiplyNegated(Instruction* multiply, Rewriter& rewriter) {
  Instruction *a, *b;
  if (!Match(multiply, m::Multiply(m::Negate(m::Any(&a)), m::Negate(m::Any(&b))))) return nullptr;
  return rewriter.Multiply(a, b);
}

// |a| * |a|  =>  a * a
Instruction* MultiplyAbs(Instruction* multiply, Rewriter& rewriter) {
  Instruction *a, *x;
  if (!Match(multiply, m::Multiply(m::Abs(&a, m::Any(&x)), m::Same(&a)))) return nullptr;
  if (IsComplex(x->shape().element_type())) return nullptr;  // |x| is another type
  return rewriter.Multiply(x, x);
}

// convert(p) * x  =>  select(p, x, 0)
// kExceptSpecials: 0 * NaN is NaN.
Instruction* MultiplyPred(Instruction* multiply, Rewriter& rewriter) {
  Instruction *p, *x;
  if (!Match(multiply, m::MultiplyAnyOrder(
                           m::Any(&x), m::Convert(m::Any(&p).WithElementType(ElementType::kPred)))))
    return nullptr;
  return rewriter.Select(p, x, rewriter.ZeroLike(x));
}

// (a*c1) * (b*c2)  =>  (a*b) * (c1*c2), for a and b that are no constants: they would change places
// with the others for ever
Instruction* MultiplyConstantPairs(Instruction* multiply, Rewriter& rewriter) {
  Instruction *a, *b, *c1, *c2;
  if (!Match(multiply,
             m::Multiply(m::MultiplyAnyOrder(m::Any(&a).Where(IsNoConstant), m::Constant(&c1)),
                         m::MultiplyAnyOrder(m::Any(&b).Where(IsNoConstant), m::Constant(&c2)))))
    return nullptr;
  return rewriter.Multiply(rewriter.Multiply(a, b), rewriter.Multiply(c1, c2));
}

// (a*c1) * c2  =>  a * (c1*c2)
// Broadcast constants are taken only where they stand right.
Instruction* MultiplyConstants(Instruction* multiply, Rewriter& rewriter) {
  Instruction *a, *c1, *c2;
  if (!Match(multiply, m::MultiplyAnyOrder(
                           m::MultiplyAnyOrder(m::Any(&a).Where(IsNoConstant), m::Constant(&c1)),
                           m::Constant(&c2))) &&
      !Match(multiply, m::Multiply(m::Multiply(m::Any(&a), m::Broadcast(&c1, m::ConstantScalar())),
                                   m::Broadcast(&c2, m::ConstantScalar()))))
    return nullptr;
  Instruction* product = CombineConstants(rewriter, Opcode::kMultiply, c1, c2);
  return product == nullptr ? nullptr : rewriter.Multiply(a, product);
}

// (a*c) * broadcast(b)  =>  a * broadcast(b*c), for scalar c, b not constant
Instruction* MultiplyScalars(Instruction* multiply, Rewriter& rewriter) {
  Instruction *a, *c, *b, *spread;
  if (!Match(multiply,
             m::MultiplyAnyOrder(m::MultiplyAnyOrder(m::Any(&a), m::Any(&c).Where(IsConst)),
                                 m::Broadcast(&spread, m::Any(&b)))))
    return nullptr;
  Instruction* scalar = ScalarConstant(c);
  if (scalar == nullptr || !scalar->shape().IsScalar() || b->IsConstant() ||
      ScalarConstant(b) != nullptr || b->shape().has_dynamic_dims() ||
      spread->shape().has_dynamic_dims())
    return nullptr;
  Instruction* product = rewriter.Multiply(b, BroadcastLike(rewriter, scalar, b));
  return rewriter.Multiply(a, BroadcastAs(rewriter, product, spread));
}

// exp(a) * exp(b)  =>  exp(a + b)
Instruction* MultiplyExp(Instruction* multiply, Rewriter& rewriter) {
  Instruction *a, *b;
  if (!Match(multiply, m::Multiply(m::Exp(m::Any(&a)), m::Exp(m::Any(&b))))) return nullptr;
  return rewriter.Exp(rewriter.Add(a, b));
}

// sqrt(x) * sqrt(x)  =>  x;  rsqrt(x) * rsqrt(x)  =>  1 / x, for x >= 0
template <bool kVariances>
Instruction* MultiplyRoots(Instruction* multiply, Rewriter& rewriter) {
  Instruction* x;
  if (Match(multiply, m::Multiply(m::Sqrt(m::Any(&x)), m::Sqrt(m::Same(&x)))))
    return IsNonNegative(x, kVariances) ? x : nullptr;
  if (Match(multiply, m::Multiply(m::Rsqrt(m::Any(&x)), m::Rsqrt(m::Same(&x)))))
    return IsNonNegative(x, kVariances) ? rewriter.Divide(rewriter.ConstantLike(x, 1), x) : nullptr;
  return nullptr;
}

// ---- divide ----

// x / 1  =>  x
Instruction* DivideOne(Instruction* divide, Rewriter&) {
  return Match(divide->operand(1), m::One()) ? divide->operand(0) : nullptr;
}

// What a signed x becomes when `of_magnitude` is right for |x|.
template <class Fn>
Instruction* WithSign(Rewriter& rewriter, Instruction* x, Fn of_magnitude) {
  if (IsUnsigned(x->shape().element_type())) return of_magnitude(x);
  Instruction* negative = rewriter.Compare(x, rewriter.ZeroLike(x), ComparisonDirection::kLt);
  Instruction* result = of_magnitude(rewriter.Select(negative, rewriter.Negate(x), x));
  return rewriter.Select(negative, rewriter.Negate(result), result);
}

// x / 2^k  =>  x >> k, for signed x of the magnitude
Instruction* DividePowerOfTwo(Instruction* divide, Rewriter& rewriter) {
  const std::optional<int64_t> k = PowerOfTwo(divide->operand(1));
  if (!k || *k == 0) return nullptr;
  return WithSign(rewriter, divide->operand(0), [&](Instruction* x) {
    return rewriter.ShiftRightLogical(x, rewriter.ConstantLike(x, static_cast<double>(*k)));
  });
}

// exp(a) / exp(b)  =>  exp(a - b);  a / exp(b)  =>  a * exp(-b);  a / pow(b, c)  =>  a * pow(b, -c)
Instruction* DivideByExp(Instruction* divide, Rewriter& rewriter) {
  Instruction *a, *b, *c;
  if (Match(divide, m::Divide(m::Exp(m::Any(&a)), m::Exp(m::Any(&b)))))
    return rewriter.Exp(rewriter.Subtract(a, b));
  if (Match(divide, m::Divide(m::Any(&a), m::Exp(m::Any(&b)))))
    return rewriter.Multiply(a, rewriter.Exp(rewriter.Negate(b)));
  if (!IsIntegral(divide) && Match(divide, m::Divide(m::Any(&a), m::Power(m::Any(&b), m::Any(&c)))))
    return rewriter.Multiply(a, rewriter.Power(b, rewriter.Negate(c)));
  return nullptr;
}

// a / sqrt(b)  =>  a * rsqrt(b);  a / rsqrt(b)  =>  a * sqrt(b)
Instruction* DivideByRoot(Instruction* divide, Rewriter& rewriter) {
  Instruction *a, *b;
  const auto is_used_once = [](const Instruction& root) { return root.use_count() == 1; };
  if (Match(divide, m::Divide(m::Any(&a), m::Sqrt(m::Any(&b)).Where(is_used_once))))
    return rewriter.Multiply(a, rewriter.Rsqrt(b));
  if (Match(divide, m::Divide(m::Any(&a), m::Rsqrt(m::Any(&b)).Where(is_used_once))))
    return rewriter.Multiply(a, rewriter.Sqrt(b));
  return nullptr;
}

// 1 / c for every element, as the element type rounds it; nothing if one is a number so small that
// its reciprocal is infinite: 0 / c is 0 and not NaN. (XLA's makes NaN of it.) Floats under 16 bits
// round it too coarsely, and some hold neither what is too large nor infinity.
std::optional<Literal> Reciprocals(const Literal& c) {
  const ElementType type = c.element_type();
  constexpr int kLeastBits = 16;
  if ((!IsFloat(type) && !IsComplex(type)) || BitWidth(type) < kLeastBits) return std::nullopt;
  Literal result(c.shape());
  for (int64_t i = 0; i < c.element_count(); ++i) {
    if (type == ElementType::kC64) {
      result.SetComplex(i, std::complex<float>(1) / std::complex<float>(c.GetComplex(i)));
      continue;
    }
    if (type == ElementType::kC128) {
      result.SetComplex(i, std::complex<double>(1) / c.GetComplex(i));
      continue;
    }
    const double value = c.GetDouble(i);
    if (type == ElementType::kF32) {
      result.SetDouble(i, 1.0F / static_cast<float>(value));
    } else {
      result.SetDouble(i, 1.0 / value);
    }
    if (value != 0 && std::isinf(result.GetDouble(i))) return std::nullopt;
  }
  return result;
}

// a / c  =>  a * (1 / c)
Instruction* DivideConstant(Instruction* divide, Rewriter& rewriter) {
  Instruction* a = divide->operand(0);
  Instruction* c = divide->operand(1);
  Instruction* source = c->opcode() == Opcode::kBroadcast ? c->operand(0) : c;
  if (a->IsConstant() || !source->IsConstant() || source->literal().is_elided() ||
      !source->shape().IsArray())
    return nullptr;
  const std::optional<Literal> inverse = Reciprocals(source->literal());
  if (!inverse) return nullptr;
  Instruction* constant = rewriter.Constant(*inverse);
  if (c != source) constant = BroadcastAs(rewriter, constant, c);
  return rewriter.Multiply(a, constant);
}

// (a/b) / (c/d)  =>  (a*d) / (b*c);  (a/b) / c  =>  a / (b*c);  a / (b/c)  =>  (a*c) / b
Instruction* DivideQuotients(Instruction* divide, Rewriter& rewriter) {
  if (IsIntegral(divide)) return nullptr;
  Instruction *a, *b, *c, *d;
  if (Match(divide,
            m::Divide(m::Divide(m::Any(&a), m::Any(&b)), m::Divide(m::Any(&c), m::Any(&d)))))
    return rewriter.Divide(rewriter.Multiply(a, d), rewriter.Multiply(b, c));
  if (Match(divide, m::Divide(m::Divide(m::Any(&a), m::Any(&b)), m::Any(&c))))
    return rewriter.Divide(a, rewriter.Multiply(b, c));
  if (Match(divide, m::Divide(m::Any(&a), m::Divide(m::Any(&b), m::Any(&c)))))
    return rewriter.Divide(rewriter.Multiply(a, c), b);
  return nullptr;
}

// a / broadcast(b)  =>  a * broadcast(1 / b)
Instruction* DivideBroadcast(Instruction* divide, Rewriter& rewriter) {
  Instruction *a, *b, *spread;
  if (IsIntegral(divide) ||
      !Match(divide, m::Divide(m::Any(&a), m::Broadcast(&spread, m::Any(&b)))) || b->IsConstant() ||
      b->use_count() != 1)
    return nullptr;
  Instruction* inverse = rewriter.Divide(rewriter.ConstantLike(b, 1), b);
  return rewriter.Multiply(a, BroadcastAs(rewriter, inverse, spread));
}
Instruction* DivideBroadcastFloat(Instruction* divide, Rewriter& rewriter) {
  return IsFloating(divide) ? DivideBroadcast(divide, rewriter) : nullptr;
}

// convert(p) / broadcast(b)  =>  broadcast(1 / b) * convert(p), for a predicate p and a scalar b
// kReassociate: 0 / b is 0 for a denormal b, 0 * (1 / b) is NaN.
Instruction* DividePred(Instruction* divide, Rewriter& rewriter) {
  Instruction *convert, *b, *spread;
  if (IsIntegral(divide) ||
      !Match(divide, m::Divide(m::Convert(&convert, m::Any().WithElementType(ElementType::kPred)),
                               m::Broadcast(&spread, m::Any(&b).WithRank(0)))) ||
      b->IsConstant())
    return nullptr;
  Instruction* inverse = rewriter.Divide(rewriter.ConstantLike(b, 1), b);
  return rewriter.Multiply(BroadcastAs(rewriter, inverse, spread), convert);
}

// ---- remainder ----

// (a % b) % b  =>  a % b
Instruction* RemainderTwice(Instruction* remainder, Rewriter&) {
  Instruction *inner, *b;
  if (!Match(remainder, m::Remainder(m::Remainder(&inner, m::Any(), m::Any(&b)), m::Same(&b))))
    return nullptr;
  return inner;
}

// x % 2^k  =>  x & (2^k - 1), for signed x of the magnitude
Instruction* RemainderPowerOfTwo(Instruction* remainder, Rewriter& rewriter) {
  const std::optional<int64_t> k = PowerOfTwo(remainder->operand(1));
  if (!k) return nullptr;
  const auto mask = static_cast<int64_t>((uint64_t{1} << *k) - 1);
  return WithSign(rewriter, remainder->operand(0), [&](Instruction* x) {
    Instruction* bits = rewriter.Constant(Literal::Scalar(x->shape().element_type(), mask));
    return rewriter.And(x, BroadcastLike(rewriter, bits, x));
  });
}

int64_t IotaSize(const Instruction* iota) {
  return iota->shape().dim(static_cast<int>(iota->attrs<IotaAttrs>().iota_dimension));
}

// iota % c  =>  iota, when c is at least its size;  (iota + c) % c  =>  iota % c
Instruction* RemainderOfIota(Instruction* remainder, Rewriter& rewriter) {
  const Instruction* scalar = ScalarConstant(remainder->operand(1));
  if (scalar == nullptr || !IsInteger(scalar->shape().element_type())) return nullptr;
  const int64_t c = scalar->literal().GetInt();
  if (c <= 0) return nullptr;
  Instruction* iota;
  if (Match(remainder, m::Remainder(m::Iota(&iota), m::Any())))
    return IotaSize(iota) <= c ? iota : nullptr;
  Instruction* added;
  if (!Match(remainder,
             m::Remainder(m::AddAnyOrder(m::Iota(&iota), m::Any(&added).Where(IsConst)), m::Any())))
    return nullptr;
  const Instruction* same = ScalarConstant(added);
  if (same == nullptr || same->literal().GetInt() != c) return nullptr;
  const int bits =
      BitWidth(scalar->shape().element_type()) - (IsSigned(scalar->shape().element_type()) ? 1 : 0);
  if (bits < 63 && IotaSize(iota) + c >= int64_t{1} << bits) return nullptr;  // may wrap around
  return rewriter.Remainder(iota, remainder->operand(1));
}

constexpr Rule kMultiplyDivideRules[] = {
    {"multiply-one", Opcode::kMultiply, kExact, MultiplyOne},
    {"multiply-zero", Opcode::kMultiply, kExact, MultiplyZeroInt},
    {"multiply-negated", Opcode::kMultiply, kExact, MultiplyNegated},
    {"multiply-abs", Opcode::kMultiply, kExact, MultiplyAbs},
    {"multiply-pred", Opcode::kMultiply, kExceptSpecials, MultiplyPred},
    {"multiply-constant-pairs", Opcode::kMultiply, kReassociate, MultiplyConstantPairs},
    {"multiply-constants", Opcode::kMultiply, kReassociate, MultiplyConstants},
    {"multiply-scalars", Opcode::kMultiply, kReassociate, MultiplyScalars},
    {"multiply-exp", Opcode::kMultiply, kReassociate, MultiplyExp},
    {"multiply-roots", Opcode::kMultiply, kReassociate, MultiplyRoots<false>},
    {"divide-one", Opcode::kDivide, kExact, DivideOne},
    {"divide-power-of-two", Opcode::kDivide, kExact, DividePowerOfTwo},
    {"divide-by-exp", Opcode::kDivide, kReassociate, DivideByExp},
    {"divide-by-root", Opcode::kDivide, kReassociate, DivideByRoot},
    {"divide-constant", Opcode::kDivide, kReassociate, DivideConstant},
    {"remainder-twice", Opcode::kRemainder, kExact, RemainderTwice},
    {"remainder-power-of-two", Opcode::kRemainder, kExact, RemainderPowerOfTwo},
    {"remainder-of-iota", Opcode::kRemainder, kExact, RemainderOfIota},
};
constexpr Rule kFastMultiplyRules[] = {
    {"multiply-zero-fast", Opcode::kMultiply, kExceptSpecials, MultiplyZero}};
constexpr Rule kVarianceMultiplyRules[] = {
    {"multiply-roots-of-variance", Opcode::kMultiply, kReassociate, MultiplyRoots<true>}};
constexpr Rule kCpuRules[] = {
    {"divide-broadcast", Opcode::kDivide, kReassociate, DivideBroadcastFloat}};
constexpr Rule kCpuComplexRules[] = {
    {"divide-broadcast-complex", Opcode::kDivide, kReassociate, DivideBroadcast}};
constexpr Rule kQuotientRules[] = {
    {"divide-quotients", Opcode::kDivide, kReassociate, DivideQuotients},
    {"divide-pred", Opcode::kDivide, kReassociate, DividePred},
};

}  // namespace

std::span<const Rule> MultiplyDivideRules() { return kMultiplyDivideRules; }
std::span<const Rule> FastMultiplyRules() { return kFastMultiplyRules; }
std::span<const Rule> VarianceMultiplyRules() { return kVarianceMultiplyRules; }
std::span<const Rule> CpuRules() { return kCpuRules; }
std::span<const Rule> CpuComplexRules() { return kCpuComplexRules; }
std::span<const Rule> QuotientRules() { return kQuotientRules; }

}  // namespace hlo::algsimp
