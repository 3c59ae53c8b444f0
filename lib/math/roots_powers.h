// lib/math/roots_powers.h
//
// 1/sqrt, cbrt and pow. (sqrt is a primitive: the processor rounds it correctly.)
//
// f32 cbrt and pow compute in f64. f64 pow takes the logarithm to about 66 bits, as a sum of two
// doubles, because its error counts |y log x| times in the result. Errors: math_accuracy_test.cc.
#pragma once

#include "lib/math/exp_log.h"

namespace hlo::math {

// 1 / sqrt(x): +-0 -> +-inf, inf -> 0, below 0 -> NaN.
template <class V>
V Rsqrt(V x) {
  return Div(Const(x, 1), Sqrt(x));
}

// The power of a magnitude to y, and what C's pow says about signs and special values on top of it.
template <class V>
V WithPowSpecials(V x, V y, V value) {
  const V zero = Const(x, 0), one = Const(x, 1);
  const V magnitude = Abs(x);
  const V half = Mul(y, Const(y, 0.5));
  const MaskOf<V> integral = Equal(Trunc(y), y);
  const MaskOf<V> odd = And(integral, NotEqual(Trunc(half), half));
  const V with_sign = Select(And(odd, SignBit(x)), Neg(value), value);
  const MaskOf<V> no_value =
      And(And(Less(x, zero), Less(magnitude, Const(x, kInf))), Not(Or(integral, IsNan(y))));
  const MaskOf<V> always_one =
      Or(Equal(y, zero), Or(Equal(x, one), And(Equal(magnitude, one), IsInf(y))));
  return Select(always_one, one, Select(no_value, Const(x, kNan), with_sign));
}

// log x as a sum of two doubles with a relative error of about 2^-65, for a positive and finite x.
template <class V>
Pair<V> LogPair(V x) {
  const MaskOf<V> tiny = Less(x, Const(x, 0x1p-1022));
  const LogReduction<V> m = ReduceForLog(Select(tiny, Mul(x, Const(x, 0x1p54)), x));
  const V e = SmallIntToFloat(x, Select(tiny, Sub(m.exponent, IntConst(x, 54)), m.exponent));
  // s = f / (2 + f) as a pair; log(1 + f) = 2 atanh s = 2 s + s (2/3 s^2 + ...).
  const V f = m.fraction;
  const Pair<V> d = TwoSum(Const(x, 2), f);
  const V s = Div(f, d.hi);
  const V s_low = Div(Fma(Neg(s), d.lo, Fma(Neg(s), d.hi, f)), d.hi);
  const Pair<V> square = TwoProduct(s, s);
  const V square_low = Fma(Mul(s, Const(x, 2)), s_low, square.lo);
  const V rest = Mul(Mul(square.hi, square.hi), Horner(square.hi, kAtanhTail5<double>));
  const V two_thirds = Const(x, 0x1.5555555555555p-1);
  const Pair<V> cubic = TwoProduct(square.hi, two_thirds);
  const V cubic_low =
      Fma(square.hi, Const(x, 0x1.5555555555555p-55), Fma(square_low, two_thirds, cubic.lo));
  const Pair<V> factor = QuickTwoSum(cubic.hi, rest);
  const V factor_low = Add(factor.lo, cubic_low);
  const Pair<V> product = TwoProduct(s, factor.hi);
  const V product_low = Fma(s, factor_low, Fma(s_low, factor.hi, product.lo));
  const Pair<V> log_m = QuickTwoSum(Add(s, s), product.hi);
  const V log_m_low = Add(log_m.lo, Fma(s_low, Const(x, 2), product_low));
  // e times the leading part of ln 2 is exact.
  const Pair<V> sum = TwoSum(Mul(e, Const(x, 0x1.62e42fefa38p-1)), log_m.hi);
  const V low = Add(sum.lo, Fma(e, Const(x, 0x1.ef35793c7673p-45), log_m_low));
  return QuickTwoSum(sum.hi, low);
}

// e^(hi + lo) for any hi and a small lo.
template <class V>
V ExpOfPair(V hi, V lo) {
  const V inside = ClampForExp(hi);
  const Rounded<V> k = RoundScaled(inside, 0x1.71547652b82fep0);
  const V low_step = Const(hi, -ExpLogOf<V>::kLn2Lo);
  const V exact = Fma(k.value, Const(hi, -ExpLogOf<V>::kLn2Hi), inside);
  // What rounding r and 1 + r loses comes back with the tail.
  const V r = Fma(k.value, low_step, exact);
  const V lost = Add(Fma(k.value, low_step, Sub(exact, r)), lo);
  const V head = Add(Const(hi, 1), r);
  const V head_lost = Sub(r, Sub(head, Const(hi, 1)));
  const V tail = Fma(Mul(r, r), Horner(r, kExpTail<double>), head_lost);
  return ScaleByPowerOfTwo(Add(head, Fma(lost, Add(head, tail), tail)), k.integer);
}

// x^y as C's pow.
template <class V>
V Pow(V x, V y) {
  const V magnitude = Abs(x);
  if constexpr (kIsF32<V>) {
    const auto logarithm = Log(Cast<double>(magnitude));
    return WithPowSpecials(x, y, Cast<float>(Exp(Mul(Cast<double>(y), logarithm))));
  } else {
    const V zero = Const(x, 0);
    const Pair<V> logarithm = LogPair(magnitude);
    const Pair<V> exponent = TwoProduct(y, logarithm.hi);
    const V low = Fma(y, logarithm.lo, exponent.lo);
    // Beyond the range of exp the low part may be anything, NaN included.
    const MaskOf<V> in_range = Less(Abs(exponent.hi), Const(x, 1000));
    const V value = ExpOfPair(exponent.hi, Select(in_range, low, zero));
    // The logarithm of zeros and infinities, where the pair is good for nothing; NaN passes here as
    // well.
    const MaskOf<V> regular = And(Less(zero, magnitude), Less(magnitude, Const(x, kInf)));
    const V grows = Select(Less(y, zero), zero, Const(x, kInf));
    const V shrinks = Select(Less(y, zero), Const(x, kInf), zero);
    const V at_end = Select(IsNan(y), y, Select(Equal(x, zero), shrinks, grows));
    const V edge = Select(IsNan(x), x, at_end);
    return WithPowSpecials(x, y, Select(regular, value, edge));
  }
}

// The real cube root, odd.
template <class V>
V Cbrt(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Cbrt(Cast<double>(x)));
  } else {
    const V magnitude = Abs(x);
    const MaskOf<V> tiny = Less(magnitude, Const(x, 0x1p-1022));
    const LogReduction<V> m =
        ReduceForLog(Select(tiny, Mul(magnitude, Const(x, 0x1p54)), magnitude));
    // exponent = 3 third + rest, rest in {0, 1, 2}; 2^54 was 3 * 18.
    const V e = SmallIntToFloat(x, m.exponent);
    const Rounded<V> third = RoundScaled(Sub(e, Const(x, 1)), 1.0 / 3);
    const V rest = Fma(third.value, Const(x, -3), e);
    const V root = Select(Equal(rest, Const(x, 0)), Const(x, 1),
                          Select(Equal(rest, Const(x, 1)), Const(x, 0x1.428a2f98d728bp0),
                                 Const(x, 0x1.965fea53d6e3dp0)));
    const V power = Select(Equal(rest, Const(x, 0)), Const(x, 1),
                           Select(Equal(rest, Const(x, 1)), Const(x, 2), Const(x, 4)));
    const V a = Mul(Add(m.fraction, Const(x, 1)), power);
    const V start = Mul(Horner(m.fraction, kCbrtStart<double>), root);
    // Halley's step triples the 15 good bits, Newton's step with an exact cube does the rest.
    const V cube = Mul(Mul(start, start), start);
    const V y = Mul(start, Div(Fma(a, Const(x, 2), cube), Fma(cube, Const(x, 2), a)));
    const Pair<V> square = TwoProduct(y, y);
    const V excess = Fma(square.lo, y, Fma(square.hi, y, Neg(a)));
    const V value = Sub(y, Div(excess, Mul(square.hi, Const(x, 3))));
    const IntOf<V> exponent = Select(tiny, Sub(third.integer, IntConst(x, 18)), third.integer);
    const V scaled = CopySign(Mul(value, PowerOfTwo(x, exponent)), x);
    const MaskOf<V> regular = And(Less(Const(x, 0), magnitude), IsFinite(x));
    return Select(regular, scaled, x);
  }
}

}  // namespace hlo::math
