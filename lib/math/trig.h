// lib/math/trig.h
//
// sin and cos for f32 and f64 values, accurate for every finite argument.
//
// |x| = k pi/2 + r, |r| <= pi/4 and a little: by three products with the parts of pi/2 where k is
// small, else by a product with the bits of 2/pi that matter for the exponent of x (pi_bits.h).
// Then a polynomial for sin or cos of r, by k mod 4.
//
// sin(±0) == ±0; infinities and NaNs give NaN. Errors: math_accuracy_test.cc.
#pragma once

#include "lib/math/coefficients.h"
#include "lib/math/pi_bits.h"
#include "lib/math/primitives.h"

namespace hlo::math {

// |x| = k pi/2 + r; `k` holds the true number of quarter turns at least mod 4.
template <class V>
struct QuarterTurns {
  V r;
  IntOf<V> k;
};

template <class T>
struct TrigConstants;
template <>
struct TrigConstants<float> {
  static constexpr double kHalfPi[3] = {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50};
  static constexpr double kSmallLimit = 0x1p16;
};
template <>
struct TrigConstants<double> {
  static constexpr double kHalfPi[3] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54,
                                        -0x1.f1976b7ed8fbcp-110};
  static constexpr double kSmallLimit = 0x1p28;
};

template <class V>
QuarterTurns<V> ReduceSmallAngle(V magnitude) {
  using C = TrigConstants<ScalarOf<V>>;
  const Rounded<V> k = RoundScaled(magnitude, 0x1.45f306dc9c883p-1);
  V r = magnitude;
  // The first step is exact, the second is rounded once, the third moves the last bits.
  for (double part : C::kHalfPi) r = Fma(k.value, Const(magnitude, -part), r);
  return {r, k.integer};
}

// x - 4 n for the integer n that brings it to [-2, 2], exactly.
template <class V>
V ModFour(V x) {
  return Fma(RoundEven(Mul(x, Const(x, 0.25))), Const(x, -4), x);
}

// The same for an |x| >= kSmallLimit; NaN for infinities and NaNs.
template <class V>
QuarterTurns<V> ReduceLargeAngle(V magnitude) {
  if constexpr (kIsF32<V>) {
    using D = Rebind<V, double>;
    const IntOf<V> exponent =
        Sub(Lshr(Bits(magnitude), 23), IntConst(magnitude, 127 + kPiBitsF32First));
    const IntOf<V> last = IntConst(magnitude, kPiBitsF32Groups - 1);
    const IntOf<V> row = Ashr(exponent, 4);
    const Rebind<V, int64_t> group = Cast<int64_t>(Select(Less(last, row), last, row));
    const D x = Cast<double>(magnitude);
    // x = y 2^(first + 16 group), y in [1, 2^16); each table row holds 2/pi times that power, mod
    // 2^25.
    const Rebind<V, int64_t> power = Add(Shl(group, 4), IntConst(group, kPiBitsF32First));
    const D y = Mul(x, PowerOfTwo(x, Neg(power)));
    const Rebind<V, int64_t> index = Shl(group, 1);
    const D high = Lookup(x, std::span<const double>(kPiBitsF32), index);
    const D low = Lookup(x, std::span<const double>(kPiBitsF32), Add(index, IntConst(index, 1)));
    const Pair<D> product = TwoProduct(y, high);
    const D turns = ModFour(product.hi);
    const Rounded<D> k = RoundScaled(turns, 1);
    const D rest = Fma(y, low, product.lo);
    const D fraction = Add(Sub(turns, k.value), rest);
    const D r = Mul(fraction, Const(x, 0x1.921fb54442d18p0));
    return {Add(Cast<float>(r), Sub(magnitude, magnitude)), Cast<int32_t>(k.integer)};
  } else {
    const IntOf<V> exponent =
        Sub(Lshr(Bits(magnitude), 52), IntConst(magnitude, 1023 + kPiBitsF64First));
    const IntOf<V> last = IntConst(magnitude, kPiBitsF64Groups - 1);
    const IntOf<V> row = Ashr(exponent, 5);
    const IntOf<V> group = Select(Less(last, row), last, row);
    // x = y 2^(first + 32 group), y in [1, 2^32); each table row holds 2/pi times that power, mod
    // 2^54.
    const IntOf<V> power = Add(Shl(group, 5), IntConst(group, kPiBitsF64First));
    const V y = Mul(magnitude, PowerOfTwo(magnitude, Neg(power)));
    const IntOf<V> index = Shl(group, 2);
    const auto word = [&](int i) {
      return Lookup(y, std::span<const double>(kPiBitsF64), Add(index, IntConst(index, i)));
    };
    const Pair<V> p0 = TwoProduct(y, word(0));
    const Pair<V> p1 = TwoProduct(y, word(1));
    const Pair<V> p2 = TwoProduct(y, word(2));
    const V p3 = Mul(y, word(3));
    const Pair<V> upper = TwoSum(ModFour(p0.hi), ModFour(p0.lo));
    const Pair<V> turns = TwoSum(upper.hi, ModFour(p1.hi));
    const Rounded<V> k = RoundScaled(turns.hi, 1);
    // The fraction can cancel to 2^-61: keep what each sum loses.
    const Pair<V> a = TwoSum(Sub(turns.hi, k.value), p1.lo);
    const Pair<V> b = TwoSum(a.hi, p2.hi);
    const V lost = Add(Add(Add(upper.lo, turns.lo), Add(a.lo, b.lo)), Add(p2.lo, p3));
    const Pair<V> fraction = QuickTwoSum(b.hi, lost);
    const V half_pi = Const(y, 0x1.921fb54442d18p0);
    const V low = Fma(fraction.hi, Const(y, 0x1.1a62633145c07p-54), Mul(fraction.lo, half_pi));
    const V r = Fma(fraction.hi, half_pi, low);
    return {Add(r, Sub(magnitude, magnitude)), k.integer};
  }
}

// sin r for |r| <= 0.8.
template <class V>
V SinPolynomial(V r, V square) {
  return Fma(Mul(r, square), Horner(square, kSinTail<ScalarOf<V>>), r);
}
// cos r for |r| <= 0.8.
template <class V>
V CosPolynomial(V square) {
  const V head = Fma(square, Const(square, -0.5), Const(square, 1));
  return Fma(Mul(square, square), Horner(square, kCosTail<ScalarOf<V>>), head);
}

// sin(r + k pi/2)
template <class V>
V SinOfTurns(V r, IntOf<V> k) {
  const V square = Mul(r, r);
  const MaskOf<V> even = Equal(And(k, IntConst(r, 1)), IntConst(r, 0));
  const V value = Select(even, SinPolynomial(r, square), CosPolynomial(square));
  return FromBits(Xor(Bits(value), Shl(And(k, IntConst(r, 2)), FormatOf<V>::kWidth - 2)));
}

// sin(|x| + shift pi/2)
template <class V>
V SinOfMagnitude(V magnitude, int64_t shift) {
  const auto from = [&](QuarterTurns<V> turns) {
    return SinOfTurns(turns.r, shift == 0 ? turns.k : Add(turns.k, IntConst(magnitude, shift)));
  };
  const MaskOf<V> large =
      LessEq(Const(magnitude, TrigConstants<ScalarOf<V>>::kSmallLimit), magnitude);
  return SelectRare(
      large, [&] { return from(ReduceLargeAngle(magnitude)); }, from(ReduceSmallAngle(magnitude)));
}

// sin x
template <class V>
V Sin(V x) {
  return XorSign(SinOfMagnitude(Abs(x), 0), x);
}

// cos x
template <class V>
V Cos(V x) {
  return SinOfMagnitude(Abs(x), 1);
}

}  // namespace hlo::math
