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

}  // namespace hlo::math
