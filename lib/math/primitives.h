// lib/math/primitives.h
//
// What the functions of lib/math are written with, for any value type V.
//
// A value type is float, double, an integer, or a vector of them (an LLVM value, say). The
// functions here and in the other headers use V only through the primitives listed in README.md,
// which are free functions found by overload (native.h) or in the namespace of V. They never branch
// on a value, never default-construct one and never use an operator, so a V may be a name for
// something that exists only in the code being emitted.
//
// This header adds what can be said with the primitives alone. Being written once, it means the
// same bits everywhere.
#pragma once

#include <array>
#include <limits>

#include "lib/math/native.h"

namespace hlo::math {

// The numbers of a float format that the functions need.
template <class T>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr int kExponentBias = 127;
  static constexpr int kWidth = 32;
  // Adding it to |x| < 2^22 rounds x to an integer, ties to even, and leaves the integer in the low
  // bits.
  static constexpr double kRounder = 0x1.8p23;
};
template <>
struct FloatFormat<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr int kExponentBias = 1023;
  static constexpr int kWidth = 64;
  static constexpr double kRounder = 0x1.8p52;
};
template <class V>
using FormatOf = FloatFormat<ScalarOf<V>>;

template <class V>
inline constexpr bool kIsF32 = std::is_same_v<ScalarOf<V>, float>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- comparisons ----

template <class V>
MaskOf<V> Greater(V a, V b) {
  return Less(b, a);
}
template <class V>
MaskOf<V> GreaterEq(V a, V b) {
  return LessEq(b, a);
}
template <class V>
MaskOf<V> IsNan(V x) {
  return NotEqual(x, x);
}
template <class V>
MaskOf<V> IsInf(V x) {
  return Equal(Abs(x), Const(x, kInf));
}
// Neither infinite nor NaN.
template <class V>
MaskOf<V> IsFinite(V x) {
  return Less(Abs(x), Const(x, kInf));
}
// The sign bit, also of zeros and NaNs.
template <class V>
MaskOf<V> SignBit(V x) {
  return Less(Bits(x), IntConst(x, 0));
}

// ---- smaller and larger ----

// min(x, limit), but a NaN in x stays: one instruction where the processor's minimum returns its
// second operand.
template <class V>
V ClampAbove(V x, V limit) {
  return Select(Less(limit, x), limit, x);
}
// max(x, limit), but a NaN in x stays.
template <class V>
V ClampBelow(V x, V limit) {
  return Select(Less(x, limit), limit, x);
}

// IEEE 754-2019 minimum: a NaN in either operand gives NaN, and -0 < +0.
// The two selections differ only when the operands are equal (then "or" keeps the sign of -0) or
// when one is NaN (then one selection has its exponent and a mantissa that cannot become 0).
template <class V>
V Min(V a, V b) {
  const V first = Select(Less(a, b), a, b);
  const V second = Select(Less(b, a), b, a);
  return FromBits(Or(Bits(first), Bits(second)));
}
// IEEE 754-2019 maximum: a NaN in either operand gives NaN, and -0 < +0.
template <class V>
V Max(V a, V b) {
  return Neg(Min(Neg(a), Neg(b)));
}

// ---- polynomials ----

// c[0] + x * (c[1] + x * (c[2] + ...)), each step one Fma.
template <class V, size_t N>
V Horner(V x, const std::array<ScalarOf<V>, N>& c) {
  V sum = Const(x, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = Fma(sum, x, Const(x, c[i]));
  return sum;
}

// ---- scaling by powers of two ----

// An integer held both ways.
template <class V>
struct Rounded {
  V value;
  IntOf<V> integer;
};

// The integer nearest to scale * x, ties to even; |scale * x| must be below 2^22 (f32) or 2^51
// (f64).
template <class V>
Rounded<V> RoundScaled(V x, double scale) {
  const V rounder = Const(x, FormatOf<V>::kRounder);
  const V shifted = Fma(x, Const(x, scale), rounder);
  return {Sub(shifted, rounder), Sub(Bits(shifted), Bits(rounder))};
}

// The float equal to the integer k, |k| < 2^22 (f32) or 2^51 (f64). `like` gives the type.
template <class V>
V SmallIntToFloat(V like, IntOf<V> k) {
  const V rounder = Const(like, FormatOf<V>::kRounder);
  return Sub(FromBits(Add(Bits(rounder), k)), rounder);
}

// 2^k for a k whose power is a normal number.
template <class V>
V PowerOfTwo(V like, IntOf<V> k) {
  return FromBits(
      Shl(Add(k, IntConst(like, FormatOf<V>::kExponentBias)), FormatOf<V>::kMantissaBits));
}

// x * 2^k with one rounding, for x in about [1/2, 2] and any k that two normal powers can make up:
// also where the result is infinite or a denormal.
template <class V>
V ScaleByPowerOfTwo(V x, IntOf<V> k) {
  const IntOf<V> half = Ashr(k, 1);
  return Mul(Mul(x, PowerOfTwo(x, half)), PowerOfTwo(x, Sub(k, half)));
}

// x with its sign flipped where the sign bit of `sign` is set.
template <class V>
V XorSign(V x, V sign) {
  const IntOf<V> sign_bit = Shl(IntConst(x, 1), FormatOf<V>::kWidth - 1);
  return FromBits(Xor(Bits(x), And(Bits(sign), sign_bit)));
}

// ---- sums and products without rounding ----

// The unevaluated sum hi + lo, |lo| at most half a unit in the last place of hi.
template <class V>
struct Pair {
  V hi;
  V lo;
};

// a + b exactly.
template <class V>
Pair<V> TwoSum(V a, V b) {
  const V sum = Add(a, b);
  const V part = Sub(sum, a);
  return {sum, Add(Sub(a, Sub(sum, part)), Sub(b, part))};
}
// a + b exactly, if |a| >= |b| or a is 0.
template <class V>
Pair<V> QuickTwoSum(V a, V b) {
  const V sum = Add(a, b);
  return {sum, Sub(b, Sub(sum, a))};
}
// a * b exactly.
template <class V>
Pair<V> TwoProduct(V a, V b) {
  const V product = Mul(a, b);
  return {product, Fma(a, b, Neg(product))};
}

}  // namespace hlo::math
