// lib/math/erf_gamma.h
//
// erf for f32 and f64 values.
//
// Near 0 an odd polynomial; elsewhere 1 - e^p(|x|), with p fitted to the logarithm of 1 - erf, and
// the sign of x. erf(±0) == ±0, erf(±inf) == ±1, NaN stays NaN. Errors: math_accuracy_test.cc.
#pragma once

#include "lib/math/exp_log.h"

namespace hlo::math {

// The error function.
template <class V>
V Erf(V x) {
  using T = ScalarOf<V>;
  const V magnitude = Abs(x);
  const V small = Fma(x, Horner(Mul(x, x), kErfSmall<T>), x);
  // Beyond the limit the result is 1 in any case.
  const V inside = ClampAbove(magnitude, Const(x, kIsF32<V> ? 4 : 6));
  const V shifted = kIsF32<V> ? inside : Sub(inside, Const(x, 2));
  const V large = Sub(Const(x, 1), ExpInRange(Horner(shifted, kLogErfc<T>)));
  return Select(Less(magnitude, Const(x, kIsF32<V> ? 0.925 : 1.0)), small, CopySign(large, x));
}

}  // namespace hlo::math
