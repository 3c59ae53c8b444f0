// lib/math/hyperbolic.h
//
// tanh for f32 and f64 values.
//
// Near 0 an odd polynomial, elsewhere 1 - 2 / (e^(2|x|) + 1) with the sign of x. Odd, tanh(±0) ==
// ±0, tanh(±inf) == ±1, never beyond 1, NaN stays NaN. Errors: math_accuracy_test.cc.
#pragma once

#include "lib/math/exp_log.h"

namespace hlo::math {

// tanh x
template <class V>
V Tanh(V x) {
  const V magnitude = Abs(x);
  const V square = Mul(x, x);
  const V small = Fma(Mul(x, square), Horner(square, kTanhTail<ScalarOf<V>>), x);
  // Beyond the limit the result is 1 in any case.
  const V twice = ClampAbove(Add(magnitude, magnitude), Const(x, kIsF32<V> ? 20 : 40));
  const V one = Const(x, 1);
  const V large = Sub(one, Div(Const(x, 2), Add(ExpInRange(twice), one)));
  return CopySign(Select(Less(magnitude, Const(x, 0.55)), small, large), x);
}

// sinh x; infinite only where the result is.
template <class V>
V Sinh(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Sinh(Cast<double>(x)));
  } else {
    const V magnitude = Abs(x);
    const V t = Expm1InRange(ClampAbove(magnitude, Const(x, 40)));
    const V small = Mul(Add(t, Div(t, Add(t, Const(x, 1)))), Const(x, 0.5));
    const V large = ExpTimesPowerOfTwo(magnitude, -1);
    return CopySign(Select(Less(magnitude, Const(x, 25)), small, large), x);
  }
}

// cosh x; infinite only where the result is.
template <class V>
V Cosh(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Cosh(Cast<double>(x)));
  } else {
    const V half = ExpTimesPowerOfTwo(Abs(x), -1);
    return Add(half, Div(Const(x, 0.25), half));
  }
}

// Beyond it, sqrt(x^2 +- 1) is x.
inline constexpr double kInverseHyperbolicLimit = 0x1p28;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// The inverse of sinh.
template <class V>
V Asinh(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Asinh(Cast<double>(x)));
  } else {
    // log(x + sqrt(x^2 + 1)) = log1p(x + x^2 / (1 + sqrt(x^2 + 1))); for a large x, log x + log 2.
    const V magnitude = Abs(x), one = Const(x, 1);
    const MaskOf<V> large = Less(Const(x, kInverseHyperbolicLimit), magnitude);
    const V square = Mul(x, x);
    const V beyond = Add(magnitude, Div(square, Add(one, Sqrt(Add(square, one)))));
    const V value = Log1p(Select(large, Sub(magnitude, one), beyond));
    return CopySign(Add(value, Select(large, Const(x, kLn2), Const(x, 0))), x);
  }
}

// The inverse of cosh; NaN below 1.
template <class V>
V Acosh(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Acosh(Cast<double>(x)));
  } else {
    // With t = x - 1: log1p(t + sqrt(2 t + t^2)).
    const V t = Sub(x, Const(x, 1));
    const MaskOf<V> large = Less(Const(x, kInverseHyperbolicLimit), x);
    const V beyond = Add(t, Sqrt(Fma(t, t, Add(t, t))));
    const V value = Log1p(Select(large, t, beyond));
    const V result = Add(value, Select(large, Const(x, kLn2), Const(x, 0)));
    return Select(Less(x, Const(x, 1)), Const(x, kNan), result);
  }
}

// The inverse of tanh: +-inf at +-1, NaN beyond.
template <class V>
V Atanh(V x) {
  if constexpr (kIsF32<V>) {
    return Cast<float>(Atanh(Cast<double>(x)));
  } else {
    const V magnitude = Abs(x);
    const V ratio = Div(Add(magnitude, magnitude), Sub(Const(x, 1), magnitude));
    return CopySign(Mul(Log1p(ratio), Const(x, 0.5)), x);
  }
}

}  // namespace hlo::math
