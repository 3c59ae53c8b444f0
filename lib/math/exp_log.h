// lib/math/exp_log.h
//
// exp, exp - 1, log, log(1 + x) and the logistic function for f32 and f64 values.
//
// exp:  x = k ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial; times 2^k in two steps, so that
// the last product
//       alone rounds a denormal or overflows.
// log:  x = 2^e m with m in [sqrt 1/2, sqrt 2); log m by a polynomial in m - 1 (f32) or in (m - 1)
// / (m + 1) (f64).
//
// NaN stays NaN. Signs of zeros, infinities and domain errors are those of C. Errors:
// math_accuracy_test.cc.
#pragma once

#include "lib/math/coefficients.h"
#include "lib/math/primitives.h"

namespace hlo::math {

template <class T>
struct ExpLogConstants;
template <>
struct ExpLogConstants<float> {
  static constexpr double kLn2Hi = 0x1.62e43p-1, kLn2Lo = -0x1.05c61p-29;
  // Beyond these e^x is infinite, or 0, even times 2 or 1/2.
  static constexpr double kExpMax = 90, kExpMin = -105;
  // Above it, log(1 + x) and e^x - 1 differ from log(x) and e^x by less than a rounding.
  static constexpr double kExpm1Min = -30;
  static constexpr int64_t kSqrtHalfBits = 0x3f3504f3;
  static constexpr int64_t kMantissaMask = 0x7fffff;
};
template <>
struct ExpLogConstants<double> {
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kExpMax = 711.5, kExpMin = -747;
  static constexpr double kExpm1Min = -60;
  static constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  static constexpr int64_t kMantissaMask = 0xfffffffffffff;
};
template <class V>
using ExpLogOf = ExpLogConstants<ScalarOf<V>>;

// x = k ln 2 + r.
template <class V>
struct ExpReduction {
  V r;
  IntOf<V> k;
};
template <class V>
ExpReduction<V> ReduceForExp(V x) {
  const Rounded<V> k = RoundScaled(x, 0x1.71547652b82fep0);
  // The first step is exact: k ln2_hi and x agree in their leading bits.
  const V r = Fma(k.value, Const(x, -ExpLogOf<V>::kLn2Hi), x);
  return {Fma(k.value, Const(x, -ExpLogOf<V>::kLn2Lo), r), k.integer};
}

// x, but not further out than where e^x is infinite or 0.
template <class V>
V ClampForExp(V x) {
  return ClampBelow(ClampAbove(x, Const(x, ExpLogOf<V>::kExpMax)), Const(x, ExpLogOf<V>::kExpMin));
}

// e^x 2^power, for any x; `power` is -1, 0 or 1.
template <class V>
V ExpTimesPowerOfTwo(V x, int power) {
  const ExpReduction<V> e = ReduceForExp(ClampForExp(x));
  const V tail = Fma(Mul(e.r, e.r), Horner(e.r, kExpTail<ScalarOf<V>>), e.r);
  const IntOf<V> k = power == 0 ? e.k : Add(e.k, IntConst(x, power));
  return ScaleByPowerOfTwo(Add(Const(x, 1), tail), k);
}

// e^x
template <class V>
V Exp(V x) {
  return ExpTimesPowerOfTwo(x, 0);
}

// e^x for an x whose result is a normal number.
template <class V>
V ExpInRange(V x) {
  const ExpReduction<V> e = ReduceForExp(x);
  const V tail = Fma(Mul(e.r, e.r), Horner(e.r, kExpTail<ScalarOf<V>>), e.r);
  return Mul(Add(Const(x, 1), tail), PowerOfTwo(x, e.k));
}

// e^x - 1 for an x with |x| < 80. The sign of a zero is lost.
template <class V>
V Expm1InRange(V x) {
  const ExpReduction<V> e = ReduceForExp(x);
  const V tail = Fma(Mul(e.r, e.r), Horner(e.r, kExpm1Tail<ScalarOf<V>>), e.r);
  const V power = PowerOfTwo(x, e.k);
  return Fma(power, tail, Sub(power, Const(x, 1)));
}

// e^x - 1, accurate near 0.
template <class V>
V Expm1(V x) {
  const V inside =
      ClampBelow(ClampAbove(x, Const(x, ExpLogOf<V>::kExpMax)), Const(x, ExpLogOf<V>::kExpm1Min));
  const ExpReduction<V> e = ReduceForExp(inside);
  const V tail = Fma(Mul(e.r, e.r), Horner(e.r, kExpm1Tail<ScalarOf<V>>), e.r);
  // 2^k is no float at the upper end of the range: take 8 from k there and multiply by 2^8 in the
  // end.
  const IntOf<V> last = IntConst(x, FormatOf<V>::kExponentBias - 4);
  const MaskOf<V> high = Less(last, e.k);
  const V power = PowerOfTwo(x, Select(high, Sub(e.k, IntConst(x, 8)), e.k));
  const V value = Fma(power, tail, Sub(power, Const(x, 1)));
  return CopySign(Mul(value, Select(high, Const(x, 256), Const(x, 1))), x);
}

// 1 / (1 + e^-x), in the form whose power is never above 1.
template <class V>
V Logistic(V x) {
  const V power = Exp(Neg(Abs(x)));
  const V one = Const(x, 1);
  const V sum = Add(one, power);
  const V quotient = Div(Select(Less(x, Const(x, 0)), power, one), sum);
  // What rounding the sum lost, times the derivative: exact to first order for x < 0, where alone
  // it matters.
  const V lost = Sub(power, Sub(sum, one));
  return Fma(Mul(lost, quotient), Sub(quotient, one), quotient);
}

// x = 2^exponent (1 + fraction), fraction in [sqrt 1/2 - 1, sqrt 2 - 1), for a normal x > 0.
template <class V>
struct LogReduction {
  V fraction;
  IntOf<V> exponent;
};
template <class V>
LogReduction<V> ReduceForLog(V x) {
  const IntOf<V> base = IntConst(x, ExpLogOf<V>::kSqrtHalfBits);
  const IntOf<V> steps = Sub(Bits(x), base);
  const IntOf<V> mantissa = And(steps, IntConst(x, ExpLogOf<V>::kMantissaMask));
  return {Sub(FromBits(Add(mantissa, base)), Const(x, 1)), Ashr(steps, FormatOf<V>::kMantissaBits)};
}

// log(1 + f) + e ln 2 + low, for f as above, an integer e and a small `low`.
template <class V>
V LogOfReduced(V f, V e, V low) {
  const V square = Mul(f, f);
  const V small = Fma(e, Const(f, ExpLogOf<V>::kLn2Lo), low);
  if constexpr (kIsF32<V>) {
    const V cube_part = Fma(Mul(f, square), Horner(f, kLog1pTail<float>), small);
    const V tail = Fma(square, Const(f, -0.5), cube_part);
    return Fma(e, Const(f, ExpLogOf<V>::kLn2Hi), Add(f, tail));
  } else {
    // With s = f / (2 + f): log(1 + f) = 2 atanh s = f - (f^2/2 - s (f^2/2 + R)), R = (2 atanh s -
    // 2 s) / s.
    const V s = Div(f, Add(f, Const(f, 2)));
    const V z = Mul(s, s);
    const V rest = Mul(z, Horner(z, kAtanhTail<double>));
    const V half_square = Mul(square, Const(f, 0.5));
    const V tail = Sub(half_square, Fma(s, Add(half_square, rest), small));
    return Fma(e, Const(f, ExpLogOf<V>::kLn2Hi), Sub(f, tail));
  }
}

// `value` where 0 < x < inf; elsewhere what a logarithm of x gives: -inf at 0, NaN below, x itself
// at inf and NaN.
template <class V>
V WithLogSpecials(V x, V value) {
  const V zero = Const(x, 0), inf = Const(x, kInf);
  const V special = Select(Equal(x, zero), Neg(inf), Select(Less(x, zero), Const(x, kNan), x));
  return Select(And(Less(zero, x), Less(x, inf)), value, special);
}

// ln x
template <class V>
V Log(V x) {
  // Denormals are scaled into the normal range (where they count as 0, the product is 0 as well).
  constexpr int kScale = FormatOf<V>::kMantissaBits + 2;
  const V smallest_normal = Const(x, kIsF32<V> ? 0x1p-126 : 0x1p-1022);
  const MaskOf<V> tiny = Less(x, smallest_normal);
  const V scaled = Select(tiny, Mul(x, Const(x, kIsF32<V> ? 0x1p25 : 0x1p54)), x);
  const LogReduction<V> m = ReduceForLog(scaled);
  const IntOf<V> exponent = Select(tiny, Sub(m.exponent, IntConst(x, kScale)), m.exponent);
  const V value = LogOfReduced(m.fraction, SmallIntToFloat(x, exponent), Const(x, 0));
  return WithLogSpecials(x, value);
}

// ln(1 + x), accurate near 0.
template <class V>
V Log1p(V x) {
  const Pair<V> sum = TwoSum(Const(x, 1), x);
  const LogReduction<V> m = ReduceForLog(sum.hi);
  // Near 0 the fraction is x itself. Elsewhere what the sum lost counts for lost / sum, to first
  // order, and 1 / (1 + f) is taken as 1 - f + f^2: the lost part is below a rounding of the
  // result.
  const MaskOf<V> near_zero = Equal(m.exponent, IntConst(x, 0));
  const IntOf<V> most = IntConst(x, 100);
  const IntOf<V> down = Sub(IntConst(x, 0), Select(Less(most, m.exponent), most, m.exponent));
  const V inverse = Fma(m.fraction, Sub(m.fraction, Const(x, 1)), Const(x, 1));
  const V lost = Mul(Mul(sum.lo, PowerOfTwo(x, down)), inverse);
  const V fraction = Select(near_zero, x, m.fraction);
  const V low = Select(near_zero, Const(x, 0), lost);
  const V value = LogOfReduced(fraction, SmallIntToFloat(x, m.exponent), low);
  return CopySign(WithLogSpecials(sum.hi, value), x);
}

}  // namespace hlo::math
