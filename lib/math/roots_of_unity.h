// lib/math/roots_of_unity.h
//
// The factors of Fourier transforms.
#pragma once

#include <cstdint>
#include <numbers>

#include "lib/math/complex.h"
#include "lib/math/trig.h"

namespace hlo::math {

// e^(2 pi i turn). Callers bring `turn` into [0, 1) first, where it is exact.
template <class V>
Complex<V> RootOfUnity(V turn) {
  const V angle = Mul(Const(turn, 2 * std::numbers::pi), turn);
  return {Cos(angle), Sin(angle)};
}

// e^(2 pi i k / n), for 0 <= k < n.
inline Complex<double> RootOfUnity(int64_t k, int64_t n) {
  return RootOfUnity(static_cast<double>(k) / static_cast<double>(n));
}

}  // namespace hlo::math
