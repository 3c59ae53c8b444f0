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
//   ComplexOp<Opcode::kExp>(x)                x: math::Complex of float or double values; abs, real and imag are math::Abs, x.re, x.im
//   FloatUnary(opcode, x), …                  the same with the opcode at run time, for emitters
//
// Changes of type are in lib/math/convert.h; clamp, reduce-precision and stochastic-convert are
// functions of lib/math.
//
// Floats narrower than f32 are widened to f32 (exact), computed, and rounded once by the caller.
// pred is a mask. The kernels of the interpreter take the opcode as a template argument, so nothing
// is decided per element.
//
// HLO_SCALAR_… list the opcodes of each family; a new elementwise opcode is one line there and one
// `if constexpr` here.
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

// Float operand, float result.
#define HLO_SCALAR_FLOAT_UNARY(X)                                                             \
  X(Abs)                                                                                      \
  X(Negate) X(Sign) X(Floor) X(Ceil) X(RoundNearestAfz) X(RoundNearestEven) X(Sqrt) X(Rsqrt)  \
      X(Cbrt) X(Exp) X(Expm1) X(Log) X(Log1p) X(Logistic) X(Sin) X(Cos) X(Tan) X(Tanh) X(Erf) \
          X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atanh) X(Sinh) X(Cosh)
#define HLO_SCALAR_FLOAT_BINARY(X) \
  X(Add) X(Subtract) X(Multiply) X(Divide) X(Remainder) X(Power) X(Atan2) X(Maximum) X(Minimum)
// Complex operand, complex result. `abs`, `real` and `imag` give the component.
#define HLO_SCALAR_COMPLEX_UNARY(X)                                                         \
  X(Negate)                                                                                 \
  X(Sign) X(Sqrt) X(Rsqrt) X(Exp) X(Expm1) X(Log) X(Log1p) X(Logistic) X(Sin) X(Cos) X(Tan) \
      X(Tanh) X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atanh) X(Sinh) X(Cosh)
#define HLO_SCALAR_COMPLEX_BINARY(X) \
  X(Add) X(Subtract) X(Multiply) X(Divide) X(Power) X(Atan2) X(Maximum) X(Minimum)
#define HLO_SCALAR_INT_UNARY(X) X(Abs) X(Negate) X(Sign) X(Not) X(Popcnt) X(Clz)
#define HLO_SCALAR_INT_BINARY(X)                                                                \
  X(Add)                                                                                        \
  X(Subtract) X(Multiply) X(Divide) X(Remainder) X(Power) X(Maximum) X(Minimum) X(MulHi) X(And) \
      X(Or) X(Xor) X(ShiftLeft) X(ShiftRightArithmetic) X(ShiftRightLogical)
// pred: `not`, and these, of which `add` and `maximum` are the logical or, `multiply` and `minimum`
// the logical and.
#define HLO_SCALAR_PRED_BINARY(X) X(Add) X(Multiply) X(Maximum) X(Minimum) X(And) X(Or) X(Xor)

// ---- floats ----

template <Opcode kOp, class V>
V Float(V x) {
  if constexpr (kOp == Opcode::kAbs) return math::Abs(x);
  if constexpr (kOp == Opcode::kNegate) return math::Neg(x);
  if constexpr (kOp == Opcode::kSign) return math::Sign(x);
  if constexpr (kOp == Opcode::kFloor) return math::Floor(x);
  if constexpr (kOp == Opcode::kCeil) return math::Ceil(x);
  if constexpr (kOp == Opcode::kRoundNearestAfz) return math::RoundNearestAfz(x);
  if constexpr (kOp == Opcode::kRoundNearestEven) return math::RoundEven(x);
  if constexpr (kOp == Opcode::kSqrt) return math::Sqrt(x);
  if constexpr (kOp == Opcode::kRsqrt) return math::Rsqrt(x);
  if constexpr (kOp == Opcode::kCbrt) return math::Cbrt(x);
  if constexpr (kOp == Opcode::kExp) return math::Exp(x);
  if constexpr (kOp == Opcode::kExpm1) return math::Expm1(x);
  if constexpr (kOp == Opcode::kLog) return math::Log(x);
  if constexpr (kOp == Opcode::kLog1p) return math::Log1p(x);
  if constexpr (kOp == Opcode::kLogistic) return math::Logistic(x);
  if constexpr (kOp == Opcode::kSin) return math::Sin(x);
  if constexpr (kOp == Opcode::kCos) return math::Cos(x);
  if constexpr (kOp == Opcode::kTan) return math::Tan(x);
  if constexpr (kOp == Opcode::kTanh) return math::Tanh(x);
  if constexpr (kOp == Opcode::kErf) return math::Erf(x);
  if constexpr (kOp == Opcode::kAcos) return math::Acos(x);
  if constexpr (kOp == Opcode::kAcosh) return math::Acosh(x);
  if constexpr (kOp == Opcode::kAsin) return math::Asin(x);
  if constexpr (kOp == Opcode::kAsinh) return math::Asinh(x);
  if constexpr (kOp == Opcode::kAtanh) return math::Atanh(x);
  if constexpr (kOp == Opcode::kSinh) return math::Sinh(x);
  if constexpr (kOp == Opcode::kCosh) return math::Cosh(x);
}

template <Opcode kOp, class V>
V Float(V x, V y) {
  if constexpr (kOp == Opcode::kAdd) return math::Add(x, y);
  if constexpr (kOp == Opcode::kSubtract) return math::Sub(x, y);
  if constexpr (kOp == Opcode::kMultiply) return math::Mul(x, y);
  if constexpr (kOp == Opcode::kDivide) return math::Div(x, y);
  if constexpr (kOp == Opcode::kRemainder) return math::Rem(x, y);
  if constexpr (kOp == Opcode::kPower) return math::Pow(x, y);
  if constexpr (kOp == Opcode::kAtan2) return math::Atan2(x, y);
  if constexpr (kOp == Opcode::kMaximum) return math::Max(x, y);
  if constexpr (kOp == Opcode::kMinimum) return math::Min(x, y);
}

// ---- integers ----
//
// `bits` is the width of the element type; values of fewer bits than V lie extended by their
// signedness, and stay so.

template <class V>
inline constexpr int kIntBits = math::kIntWidth<V>;

template <Opcode kOp, class V>
V IntUnaryOp(V x, int bits = kIntBits<V>) {
  if constexpr (kOp == Opcode::kAbs) {
    if constexpr (math::kIsSignedInt<V>) {
      return math::IntAbs(x, bits);
    } else {
      return x;
    }
  }
  if constexpr (kOp == Opcode::kNegate) return math::WrapInt(math::Neg(x), bits);
  if constexpr (kOp == Opcode::kSign) {
    if constexpr (math::kIsSignedInt<V>) {
      return math::IntSign(x);
    } else {
      return math::Select(math::Equal(x, math::IntZero(x)), x, math::IntConst(x, 1));
    }
  }
  if constexpr (kOp == Opcode::kNot) return math::WrapInt(math::Not(x), bits);
  if constexpr (kOp == Opcode::kPopcnt) return math::PopulationCount(x, bits);
  if constexpr (kOp == Opcode::kClz) return math::CountLeadingZeros(x, bits);
}

template <Opcode kOp, class V>
V IntBinaryOp(V x, V y, int bits = kIntBits<V>) {
  if constexpr (kOp == Opcode::kAdd) return math::WrapInt(math::Add(x, y), bits);
  if constexpr (kOp == Opcode::kSubtract) return math::WrapInt(math::Sub(x, y), bits);
  if constexpr (kOp == Opcode::kMultiply) return math::WrapInt(math::Mul(x, y), bits);
  if constexpr (kOp == Opcode::kDivide) return math::IntDivide(x, y, bits);
  if constexpr (kOp == Opcode::kRemainder) return math::IntRemainder(x, y, bits);
  if constexpr (kOp == Opcode::kPower) return math::IntPower(x, y, bits);
  if constexpr (kOp == Opcode::kMaximum) return math::IntMax(x, y);
  if constexpr (kOp == Opcode::kMinimum) return math::IntMin(x, y);
  if constexpr (kOp == Opcode::kMulHi) return math::IntMulHigh(x, y, bits);
  if constexpr (kOp == Opcode::kAnd) return math::And(x, y);
  if constexpr (kOp == Opcode::kOr) return math::Or(x, y);
  if constexpr (kOp == Opcode::kXor) return math::Xor(x, y);
  if constexpr (kOp == Opcode::kShiftLeft) return math::ShiftLeft(x, y, bits);
  if constexpr (kOp == Opcode::kShiftRightArithmetic) return math::ShiftRightArithmetic(x, y, bits);
  if constexpr (kOp == Opcode::kShiftRightLogical) return math::ShiftRightLogical(x, y, bits);
}

// min(max(x, low), high) by the signedness of V.
template <class V>
V ClampInt(V low, V x, V high) {
  return math::IntMin(math::IntMax(x, low), high);
}

// ---- complex numbers ----

template <Opcode kOp, class V>
math::Complex<V> ComplexOp(math::Complex<V> x) {
  if constexpr (kOp == Opcode::kNegate) return math::Neg(x);
  if constexpr (kOp == Opcode::kSign) return math::Sign(x);
  if constexpr (kOp == Opcode::kSqrt) return math::Sqrt(x);
  if constexpr (kOp == Opcode::kRsqrt) return math::Rsqrt(x);
  if constexpr (kOp == Opcode::kExp) return math::Exp(x);
  if constexpr (kOp == Opcode::kExpm1) return math::Expm1(x);
  if constexpr (kOp == Opcode::kLog) return math::Log(x);
  if constexpr (kOp == Opcode::kLog1p) return math::Log1p(x);
  if constexpr (kOp == Opcode::kLogistic) return math::Logistic(x);
  if constexpr (kOp == Opcode::kSin) return math::Sin(x);
  if constexpr (kOp == Opcode::kCos) return math::Cos(x);
  if constexpr (kOp == Opcode::kTan) return math::Tan(x);
  if constexpr (kOp == Opcode::kTanh) return math::Tanh(x);
  if constexpr (kOp == Opcode::kAcos) return math::Acos(x);
  if constexpr (kOp == Opcode::kAcosh) return math::Acosh(x);
  if constexpr (kOp == Opcode::kAsin) return math::Asin(x);
  if constexpr (kOp == Opcode::kAsinh) return math::Asinh(x);
  if constexpr (kOp == Opcode::kAtanh) return math::Atanh(x);
  if constexpr (kOp == Opcode::kSinh) return math::Sinh(x);
  if constexpr (kOp == Opcode::kCosh) return math::Cosh(x);
}

template <Opcode kOp, class V>
math::Complex<V> ComplexOp(math::Complex<V> x, math::Complex<V> y) {
  if constexpr (kOp == Opcode::kAdd) return math::Add(x, y);
  if constexpr (kOp == Opcode::kSubtract) return math::Sub(x, y);
  if constexpr (kOp == Opcode::kMultiply) return math::Mul(x, y);
  if constexpr (kOp == Opcode::kDivide) return math::Div(x, y);
  if constexpr (kOp == Opcode::kPower) return math::Pow(x, y);
  if constexpr (kOp == Opcode::kAtan2) return math::Atan2(x, y);
  if constexpr (kOp == Opcode::kMaximum) return math::Max(x, y);
  if constexpr (kOp == Opcode::kMinimum) return math::Min(x, y);
}

// ---- pred ----

template <Opcode kOp, class M>
M Pred(M x, M y) {
  if constexpr (kOp == Opcode::kAnd || kOp == Opcode::kMultiply || kOp == Opcode::kMinimum)
    return math::And(x, y);
  if constexpr (kOp == Opcode::kOr || kOp == Opcode::kAdd || kOp == Opcode::kMaximum)
    return math::Or(x, y);
  if constexpr (kOp == Opcode::kXor) return math::Xor(x, y);
}

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

#define HLO_SCALAR_IS(Op) || op == Opcode::k##Op
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
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return Float<Opcode::k##Op>(x);
  HLO_SCALAR_FLOAT_UNARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsFloatBinary(op).
template <class V>
V FloatBinary(Opcode op, V x, V y) {
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return Float<Opcode::k##Op>(x, y);
  HLO_SCALAR_FLOAT_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsIntUnary(op). `bits` is the width of the element type.
template <class V>
V IntUnary(Opcode op, V x, int bits = kIntBits<V>) {
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return IntUnaryOp<Opcode::k##Op>(x, bits);
  HLO_SCALAR_INT_UNARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsIntBinary(op). `bits` is the width of the element type.
template <class V>
V IntBinary(Opcode op, V x, V y, int bits = kIntBits<V>) {
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return IntBinaryOp<Opcode::k##Op>(x, y, bits);
  HLO_SCALAR_INT_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsComplexUnary(op).
template <class V>
math::Complex<V> ComplexUnary(Opcode op, math::Complex<V> x) {
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return ComplexOp<Opcode::k##Op>(x);
  HLO_SCALAR_COMPLEX_UNARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsComplexBinary(op).
template <class V>
math::Complex<V> ComplexBinary(Opcode op, math::Complex<V> x, math::Complex<V> y) {
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return ComplexOp<Opcode::k##Op>(x, y);
  HLO_SCALAR_COMPLEX_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}
// Requires IsPredBinary(op).
template <class M>
M PredBinary(Opcode op, M x, M y) {
#define HLO_SCALAR_CASE(Op) \
  if (op == Opcode::k##Op) return Pred<Opcode::k##Op>(x, y);
  HLO_SCALAR_PRED_BINARY(HLO_SCALAR_CASE)
#undef HLO_SCALAR_CASE
  HLO_UNREACHABLE();
}

}  // namespace hlo::scalar
