// lib/math/roots_powers.h
//
// 1/sqrt and pow. (sqrt is a primitive: the processor rounds it correctly.)
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

// x^y as C's pow.
template <class V>
V Pow(V x, V y) {
  static_assert(kIsF32<V>);
  const auto logarithm = Log(Cast<double>(Abs(x)));
  const V value = Cast<float>(Exp(Mul(Cast<double>(y), logarithm)));
  return WithPowSpecials(x, y, value);
}

}  // namespace hlo::math
