// lib/math/trig.h
//
// sin, cos and tan for f32 and f64 values, accurate for every finite argument, and their inverses.
//
// |x| = k pi/2 + r, |r| <= pi/4 and a little: by three products with the parts of pi/2 where k is
// small, else by a product with the bits of 2/pi that matter for the exponent of x (pi_bits.h).
// Then a polynomial for sin or cos of r, by k mod 4.
//
// f32 tan and the inverses compute in f64.
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

// i, but not below 0 and not above `last`.
template <class I>
I ClampInt(I i, I last) {
  const I zero = IntConst(i, 0);
  return Select(Less(i, zero), zero, Select(Less(last, i), last, i));
}

// The same for an |x| >= kSmallLimit; NaN for infinities and NaNs.
template <class V>
QuarterTurns<V> ReduceLargeAngle(V magnitude) {
  if constexpr (kIsF32<V>) {
    using D = Rebind<V, double>;
    const IntOf<V> exponent =
        Sub(Lshr(Bits(magnitude), 23), IntConst(magnitude, 127 + kPiBitsF32First));
    const IntOf<V> last = IntConst(magnitude, kPiBitsF32Groups - 1);
    const Rebind<V, int64_t> group = Cast<int64_t>(ClampInt(Ashr(exponent, 4), last));
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
    const IntOf<V> group = ClampInt(Ashr(exponent, 5), last);
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
// sin(r + (k + kShift) pi/2)
template <int kShift, class V>
V SinOfShiftedTurns(QuarterTurns<V> turns) {
  return SinOfTurns(turns.r, kShift == 0 ? turns.k : Add(turns.k, IntConst(turns.r, kShift)));
}

// sin(x + kShift pi/2) of an x >= kSmallLimit; NaN for infinities and NaNs.
template <int kShift>
struct SinOfLarge {
  static constexpr const char* kName = kShift == 0 ? "sin_of_large" : "cos_of_large";
  template <class V>
  V operator()(V magnitude) const {
    return SinOfShiftedTurns<kShift>(ReduceLargeAngle(magnitude));
  }
};

// sin(|x| + kShift pi/2)
template <int kShift, class V>
V SinOfMagnitude(V magnitude) {
  const MaskOf<V> large =
      LessEq(Const(magnitude, TrigConstants<ScalarOf<V>>::kSmallLimit), magnitude);
  return SelectRare(large, SinOfLarge<kShift>(), magnitude,
                    SinOfShiftedTurns<kShift>(ReduceSmallAngle(magnitude)));
}

// sin x
template <class V>
V Sin(V x) {
  return XorSign(SinOfMagnitude<0>(Abs(x)), x);
}

// tan(r + k pi/2)
template <class V>
V TanOfTurns(QuarterTurns<V> turns) {
  const V square = Mul(turns.r, turns.r);
  const V sine = SinPolynomial(turns.r, square), cosine = CosPolynomial(square);
  const MaskOf<V> even = Equal(And(turns.k, IntConst(square, 1)), IntConst(square, 0));
  return Div(Select(even, sine, Neg(cosine)), Select(even, cosine, sine));
}

// tan x of an x >= kSmallLimit; NaN for infinities and NaNs.
struct TanOfLarge {
  static constexpr const char* kName = "tan_of_large";
  template <class V>
  V operator()(V magnitude) const {
    return TanOfTurns(ReduceLargeAngle(magnitude));
  }
};

// tan x
template <class V>
V Tan(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Tan(Cast<double>(x)));
  } else {
    const V magnitude = Abs(x);
    const MaskOf<V> large = LessEq(Const(x, TrigConstants<double>::kSmallLimit), magnitude);
    return XorSign(
        SelectRare(large, TanOfLarge(), magnitude, TanOfTurns(ReduceSmallAngle(magnitude))), x);
  }
}

// cos x
template <class V>
V Cos(V x) {
  return SinOfMagnitude<1>(Abs(x));
}

// ---- inverses ----

inline constexpr double kQuarterPiHi = 0x1.921fb54442d18p-1, kQuarterPiLo = 0x1.1a62633145c07p-55;

// The angle of the point (x, y), in [-pi, pi]; signs of zeros and infinite operands as in C.
template <class V>
V Atan2(V y, V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Atan2(Cast<double>(y), Cast<double>(x)));
  } else {
    const V one = Const(x, 1);
    const V inf = Const(x, kInf);
    const V ax = Abs(x), ay = Abs(y);
    const MaskOf<V> steep = Less(ax, ay);
    // Two infinities count as equal, two zeros as 0 / 1. Scaling keeps near + far finite.
    const MaskOf<V> both_infinite = And(Equal(ax, inf), Equal(ay, inf));
    const V far = Select(steep, ay, ax), near = Select(steep, ax, ay);
    const V scale = Select(Less(Const(x, 0x1p1000), far), Const(x, 0x1p-100), one);
    const V b = Select(both_infinite, one, Select(Equal(far, Const(x, 0)), one, Mul(far, scale)));
    const V a = Select(both_infinite, one, Mul(near, scale));
    // atan(a / b) with a <= b; above tan(pi/8) it is pi/4 + atan((a - b) / (a + b)).
    const MaskOf<V> upper = Less(Mul(b, Const(x, 0x1.a827999fcef32p-2)), a);
    const V t = Div(Select(upper, Sub(a, b), a), Select(upper, Add(a, b), b));
    const V z = Mul(t, t);
    const V angle = Fma(Mul(t, z), Horner(z, kAtanTail<double>), t);
    // The result is turns * pi/4 + angle or - angle: mirrored at pi/4 if steep, at pi/2 if x is
    // negative.
    const MaskOf<V> left = SignBit(x);
    const V zero = Const(x, 0);
    V turns = Select(upper, one, zero);
    turns = Select(steep, Sub(Const(x, 2), turns), turns);
    turns = Select(left, Sub(Const(x, 4), turns), turns);
    const V oriented = Select(Xor(steep, left), Neg(angle), angle);
    const V low = Fma(turns, Const(x, kQuarterPiLo), oriented);
    return CopySign(Fma(turns, Const(x, kQuarterPiHi), low), y);
  }
}

// The angle in [-pi/2, pi/2] whose tangent is x.
template <class V>
V Atan(V x) {
  return Atan2(x, Const(x, 1));
}

// asin s = s + s (what this gives), for the s whose square is z <= 1/4.
template <class V>
V AsinTail(V z) {
  return Mul(z, Horner(z, kAsinTail<double>));
}

// The angle in [-pi/2, pi/2] whose sine is x; NaN beyond 1.
template <class V>
V Asin(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Asin(Cast<double>(x)));
  } else {
    const V magnitude = Abs(x);
    const MaskOf<V> outer = Less(Const(x, 0.5), magnitude);
    // asin x = pi/2 - 2 asin sqrt((1 - x) / 2)
    const V z = Select(outer, Fma(magnitude, Const(x, -0.5), Const(x, 0.5)), Mul(x, x));
    const V s = Select(outer, Sqrt(z), magnitude);
    const V angle = Fma(s, AsinTail(z), s);
    const V mirrored =
        Sub(Const(x, 2 * kQuarterPiHi), Fma(angle, Const(x, 2), Const(x, -2 * kQuarterPiLo)));
    return CopySign(Select(outer, mirrored, angle), x);
  }
}

// The angle in [0, pi] whose cosine is x; NaN beyond 1.
template <class V>
V Acos(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Acos(Cast<double>(x)));
  } else {
    const V magnitude = Abs(x);
    const MaskOf<V> outer = Less(Const(x, 0.5), magnitude);
    const V z = Select(outer, Fma(magnitude, Const(x, -0.5), Const(x, 0.5)), Mul(x, x));
    const V s = Select(outer, Sqrt(z), x);
    const V tail = AsinTail(z);
    const V twice = Mul(Fma(s, tail, s), Const(x, 2));
    const V left = Sub(Const(x, 4 * kQuarterPiHi), Sub(twice, Const(x, 4 * kQuarterPiLo)));
    const V inner =
        Sub(Const(x, 2 * kQuarterPiHi), Sub(s, Fma(Neg(s), tail, Const(x, 2 * kQuarterPiLo))));
    return Select(outer, Select(Less(x, Const(x, 0)), left, twice), inner);
  }
}

}  // namespace hlo::math
