// lib/eval/scalar_ops.h
//
// What every elementwise opcode means on one element, as templates over a value type V of lib/math:
// native numbers in the interpreter and in constant folding, values of the code being emitted in
// the code generators. One definition, so that all of them give the same bits.
//
//   Float<Opcode::kTanh>(x)                   x: float or double values
//   Float<Opcode::kMaximum>(x, y)
//   IntBinaryOp<Opcode::kDivide>(x, y, bits)  x: values of an integer type; its signedness counts
//   Pred<Opcode::kAnd>(x, y)                  x: masks
//   CompareFloat(direction, type, x, y), Compare(direction, x, y), ComparePred(direction, x, y)
//   ComplexOp<Opcode::kExp>(x)                x: math::Complex of float or double values; abs, real
//                                             and imag are math::Abs, x.re, x.im
//   FloatUnary(opcode, x), …                  the same with the opcode at run time, for emitters
//
// Changes of type are in lib/math/convert.h; clamp, reduce-precision and stochastic-convert are
// functions of lib/math.
//
// Floats narrower than f32 are widened to f32 (exact), computed, and rounded once by the caller.
// pred is a mask. The kernels of the interpreter take the opcode as a template argument, so nothing
// is decided per element.
//
// HLO_SCALAR_… list the opcodes of each family with their meaning: a new elementwise opcode is one
// line there.
#pragma once

#include "lib/math/complex.h"
#include "lib/math/erf_gamma.h"
#include "lib/math/exp_log.h"
#include "lib/math/hyperbolic.h"
#include "lib/math/integer.h"
#include "lib/math/primitives.h"
#include "lib/math/roots_powers.h"
#include "lib/math/rounding.h"
#include "lib/math/trig.h"
#include "lib/ops/enums.h"
#include "lib/ops/ops.h"
#include "lib/support/check.h"

namespace hlo::scalar {

// clang-format off
// Float operand, float result.
#define HLO_SCALAR_FLOAT_UNARY(X) \
  X(Abs,              math::Abs(x)) \
  X(Negate,           math::Neg(x)) \
  X(Sign,             math::Sign(x)) \
  X(Floor,            math::Floor(x)) \
  X(Ceil,             math::Ceil(x)) \
  X(RoundNearestAfz,  math::RoundNearestAfz(x)) \
  X(RoundNearestEven, math::RoundEven(x)) \
  X(Sqrt,             math::Sqrt(x)) \
  X(Rsqrt,            math::Rsqrt(x)) \
  X(Cbrt,             math::Cbrt(x)) \
  X(Exp,              math::Exp(x)) \
  X(Expm1,            math::Expm1(x)) \
  X(Log,              math::Log(x)) \
  X(Log1p,            math::Log1p(x)) \
  X(Logistic,         math::Logistic(x)) \
  X(Sin,              math::Sin(x)) \
  X(Cos,              math::Cos(x)) \
  X(Tan,              math::Tan(x)) \
  X(Tanh,             math::Tanh(x)) \
  X(Erf,              math::Erf(x)) \
  X(Acos,             math::Acos(x)) \
  X(Acosh,            math::Acosh(x)) \
  X(Asin,             math::Asin(x)) \
  X(Asinh,            math::Asinh(x)) \
  X(Atanh,            math::Atanh(x)) \
  X(Sinh,             math::Sinh(x)) \
  X(Cosh,             math::Cosh(x))
#define HLO_SCALAR_FLOAT_BINARY(X) \
  X(Add,       math::Add(x, y)) \
  X(Subtract,  math::Sub(x, y)) \
  X(Multiply,  math::Mul(x, y)) \
  X(Divide,    math::Div(x, y)) \
  X(Remainder, math::Rem(x, y)) \
  X(Power,     math::Pow(x, y)) \
  X(Atan2,     math::Atan2(x, y)) \
  X(Maximum,   math::Max(x, y)) \
  X(Minimum,   math::Min(x, y))
// Complex operand, complex result. `abs`, `real` and `imag` give the component.
#define HLO_SCALAR_COMPLEX_UNARY(X) \
  X(Negate,   math::Neg(x)) \
  X(Sign,     math::Sign(x)) \
  X(Sqrt,     math::Sqrt(x)) \
  X(Rsqrt,    math::Rsqrt(x)) \
  X(Exp,      math::Exp(x)) \
  X(Expm1,    math::Expm1(x)) \
  X(Log,      math::Log(x)) \
  X(Log1p,    math::Log1p(x)) \
  X(Logistic, math::Logistic(x)) \
  X(Sin,      math::Sin(x)) \
  X(Cos,      math::Cos(x)) \
  X(Tan,      math::Tan(x)) \
  X(Tanh,     math::Tanh(x)) \
  X(Acos,     math::Acos(x)) \
  X(Acosh,    math::Acosh(x)) \
  X(Asin,     math::Asin(x)) \
  X(Asinh,    math::Asinh(x)) \
  X(Atanh,    math::Atanh(x)) \
  X(Sinh,     math::Sinh(x)) \
  X(Cosh,     math::Cosh(x))
#define HLO_SCALAR_COMPLEX_BINARY(X) \
  X(Add,      math::Add(x, y)) \
  X(Subtract, math::Sub(x, y)) \
  X(Multiply, math::Mul(x, y)) \
  X(Divide,   math::Div(x, y)) \
  X(Power,    math::Pow(x, y)) \
  X(Atan2,    math::Atan2(x, y)) \
  X(Maximum,  math::Max(x, y)) \
  X(Minimum,  math::Min(x, y))
// `bits` is the width of the element type; values of fewer bits than V lie extended by their
// signedness, and stay so.
#define HLO_SCALAR_INT_UNARY(X) \
  X(Abs,    math::IntAbs(x, bits)) \
  X(Negate, math::WrapInt(math::Neg(x), bits)) \
  X(Sign,   math::IntSign(x)) \
  X(Not,    math::WrapInt(math::Not(x), bits)) \
  X(Popcnt, math::PopulationCount(x, bits)) \
  X(Clz,    math::CountLeadingZeros(x, bits))
#define HLO_SCALAR_INT_BINARY(X) \
  X(Add,                  math::WrapInt(math::Add(x, y), bits)) \
  X(Subtract,             math::WrapInt(math::Sub(x, y), bits)) \
  X(Multiply,             math::WrapInt(math::Mul(x, y), bits)) \
  X(Divide,               math::IntDivide(x, y, bits)) \
  X(Remainder,            math::IntRemainder(x, y, bits)) \
  X(Power,                math::IntPower(x, y, bits)) \
  X(Maximum,              math::IntMax(x, y)) \
  X(Minimum,              math::IntMin(x, y)) \
  X(MulHi,                math::IntMulHigh(x, y, bits)) \
  X(And,                  math::And(x, y)) \
  X(Or,                   math::Or(x, y)) \
  X(Xor,                  math::Xor(x, y)) \
  X(ShiftLeft,            math::ShiftLeft(x, y, bits)) \
  X(ShiftRightArithmetic, math::ShiftRightArithmetic(x, y, bits)) \
  X(ShiftRightLogical,    math::ShiftRightLogical(x, y, bits))
// pred: `not`, and these, of which `add` and `maximum` are the logical or, `multiply` and `minimum`
// the logical and.
#define HLO_SCALAR_PRED_BINARY(X) \
  X(Add,      math::Or(x, y)) \
  X(Multiply, math::And(x, y)) \
  X(Maximum,  math::Or(x, y)) \
  X(Minimum,  math::And(x, y)) \
  X(And,      math::And(x, y)) \
  X(Or,       math::Or(x, y)) \
  X(Xor,      math::Xor(x, y))
// clang-format on

#define HLO_SCALAR_MEANING(Op, result) \
  if constexpr (kOp == Opcode::k##Op) return result;

// ---- floats ----

template <Opcode kOp, class V>
V Float(V x) {
  HLO_SCALAR_FLOAT_UNARY(HLO_SCALAR_MEANING)
}

template <Opcode kOp, class V>
V Float(V x, V y) {
  HLO_SCALAR_FLOAT_BINARY(HLO_SCALAR_MEANING)
}

// ---- integers ----

template <class V>
inline constexpr int kIntBits = math::kIntWidth<V>;

template <Opcode kOp, class V>
V IntUnaryOp(V x, int bits = kIntBits<V>) {
  HLO_SCALAR_INT_UNARY(HLO_SCALAR_MEANING)
}

template <Opcode kOp, class V>
V IntBinaryOp(V x, V y, int bits = kIntBits<V>) {
  HLO_SCALAR_INT_BINARY(HLO_SCALAR_MEANING)
}

// min(max(x, low), high) by the signedness of V.
template <class V>
V ClampInt(V low, V x, V high) {
  return math::IntMin(math::IntMax(x, low), high);
}
template <class M>
M ClampPred(M low, M x, M high) {
  return math::And(math::Or(x, low), high);
}

// ---- complex numbers ----

template <Opcode kOp, class V>
math::Complex<V> ComplexOp(math::Complex<V> x) {
  HLO_SCALAR_COMPLEX_UNARY(HLO_SCALAR_MEANING)
}

template <Opcode kOp, class V>
math::Complex<V> ComplexOp(math::Complex<V> x, math::Complex<V> y) {
  HLO_SCALAR_COMPLEX_BINARY(HLO_SCALAR_MEANING)
}

// ---- pred ----

template <Opcode kOp, class M>
M Pred(M x, M y) {
  HLO_SCALAR_PRED_BINARY(HLO_SCALAR_MEANING)
}

#undef HLO_SCALAR_MEANING

// ---- comparisons ----

// On floats as IEEE says, on integers by the signedness of V.
template <ComparisonDirection kDirection, class V>
math::MaskOf<V> CompareAs(V x, V y) {
  if constexpr (kDirection == ComparisonDirection::kEq) return math::Equal(x, y);
  if constexpr (kDirection == ComparisonDirection::kNe) return math::NotEqual(x, y);
  if constexpr (kDirection == ComparisonDirection::kGe) return math::LessEq(y, x);
  if constexpr (kDirection == ComparisonDirection::kGt) return math::Less(y, x);
  if constexpr (kDirection == ComparisonDirection::kLe) return math::LessEq(x, y);
  if constexpr (kDirection == ComparisonDirection::kLt) return math::Less(x, y);
}

// false < true.
template <ComparisonDirection kDirection, class M>
M ComparePredAs(M x, M y) {
  if constexpr (kDirection == ComparisonDirection::kEq) return math::Not(math::Xor(x, y));
  if constexpr (kDirection == ComparisonDirection::kNe) return math::Xor(x, y);
  if constexpr (kDirection == ComparisonDirection::kGe) return math::Or(x, math::Not(y));
  if constexpr (kDirection == ComparisonDirection::kGt) return math::And(x, math::Not(y));
  if constexpr (kDirection == ComparisonDirection::kLe) return math::Or(math::Not(x), y);
  if constexpr (kDirection == ComparisonDirection::kLt) return math::And(math::Not(x), y);
}

// Complex numbers have no order, only equality of both parts.
template <class V>
math::MaskOf<V> CompareComplex(ComparisonDirection direction, math::Complex<V> x,
                               math::Complex<V> y) {
  return direction == ComparisonDirection::kEq ? math::Equal(x, y) : math::NotEqual(x, y);
}

template <class V>
math::MaskOf<V> Compare(ComparisonDirection direction, V x, V y) {
  switch (direction) {
    case ComparisonDirection::kEq: return CompareAs<ComparisonDirection::kEq>(x, y);
    case ComparisonDirection::kNe: return CompareAs<ComparisonDirection::kNe>(x, y);
    case ComparisonDirection::kGe: return CompareAs<ComparisonDirection::kGe>(x, y);
    case ComparisonDirection::kGt: return CompareAs<ComparisonDirection::kGt>(x, y);
    case ComparisonDirection::kLe: return CompareAs<ComparisonDirection::kLe>(x, y);
    case ComparisonDirection::kLt: return CompareAs<ComparisonDirection::kLt>(x, y);
  }
  HLO_UNREACHABLE();
}

template <class M>
M ComparePred(ComparisonDirection direction, M x, M y) {
  switch (direction) {
    case ComparisonDirection::kEq: return ComparePredAs<ComparisonDirection::kEq>(x, y);
    case ComparisonDirection::kNe: return ComparePredAs<ComparisonDirection::kNe>(x, y);
    case ComparisonDirection::kGe: return ComparePredAs<ComparisonDirection::kGe>(x, y);
    case ComparisonDirection::kGt: return ComparePredAs<ComparisonDirection::kGt>(x, y);
    case ComparisonDirection::kLe: return ComparePredAs<ComparisonDirection::kLe>(x, y);
    case ComparisonDirection::kLt: return ComparePredAs<ComparisonDirection::kLt>(x, y);
  }
  HLO_UNREACHABLE();
}

// Floats, by IEEE comparison or by total order. Widening a narrow float keeps both.
template <class V>
math::MaskOf<V> CompareFloat(ComparisonDirection direction, ComparisonType type, V x, V y) {
  if (type == ComparisonType::kTotalOrder)
    return Compare(direction, math::TotalOrderKey(x), math::TotalOrderKey(y));
  return Compare(direction, x, y);
}

// ---- the opcode at run time; which opcodes there are is asked first ----

#define HLO_SCALAR_IS(Op, result) || op == Opcode::k##Op
constexpr bool IsFloatUnary(Opcode op) { return false HLO_SCALAR_FLOAT_UNARY(HLO_SCALAR_IS); }
constexpr bool IsFloatBinary(Opcode op) { return false HLO_SCALAR_FLOAT_BINARY(HLO_SCALAR_IS); }
constexpr bool IsComplexUnary(Opcode op) { return false HLO_SCALAR_COMPLEX_UNARY(HLO_SCALAR_IS); }
constexpr bool IsComplexBinary(Opcode op) { return false HLO_SCALAR_COMPLEX_BINARY(HLO_SCALAR_IS); }
constexpr bool IsIntUnary(Opcode op) { return false HLO_SCALAR_INT_UNARY(HLO_SCALAR_IS); }
constexpr bool IsIntBinary(Opcode op) { return false HLO_SCALAR_INT_BINARY(HLO_SCALAR_IS); }
constexpr bool IsPredBinary(Opcode op) { return false HLO_SCALAR_PRED_BINARY(HLO_SCALAR_IS); }
#undef HLO_SCALAR_IS

// Requires IsFloatUnary(op).
template <class V>
V FloatUnary(Opcode op, V x) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return Float<Opcode::k##Op>(x);
  HLO_SCALAR_FLOAT_UNARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsFloatBinary(op).
template <class V>
V FloatBinary(Opcode op, V x, V y) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return Float<Opcode::k##Op>(x, y);
  HLO_SCALAR_FLOAT_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsIntUnary(op). `bits` is the width of the element type.
template <class V>
V IntUnary(Opcode op, V x, int bits = kIntBits<V>) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return IntUnaryOp<Opcode::k##Op>(x, bits);
  HLO_SCALAR_INT_UNARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsIntBinary(op). `bits` is the width of the element type.
template <class V>
V IntBinary(Opcode op, V x, V y, int bits = kIntBits<V>) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return IntBinaryOp<Opcode::k##Op>(x, y, bits);
  HLO_SCALAR_INT_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsComplexUnary(op).
template <class V>
math::Complex<V> ComplexUnary(Opcode op, math::Complex<V> x) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return ComplexOp<Opcode::k##Op>(x);
  HLO_SCALAR_COMPLEX_UNARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsComplexBinary(op).
template <class V>
math::Complex<V> ComplexBinary(Opcode op, math::Complex<V> x, math::Complex<V> y) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return ComplexOp<Opcode::k##Op>(x, y);
  HLO_SCALAR_COMPLEX_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsPredBinary(op).
template <class M>
M PredBinary(Opcode op, M x, M y) {
#define HLO_SCALAR_CASE(Op, result) \
  if (op == Opcode::k##Op) return Pred<Opcode::k##Op>(x, y);
  HLO_SCALAR_PRED_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}

}  // namespace hlo::scalar
