// lib/math/accuracy_test_util.h
//
// Measures functions in units of the last place against references of higher precision: f32 against
// f64, f64 against long double.
//
// The unit is that of the format at the exact result (denormals: their step). Beside numbers, the
// classes must agree: NaN with NaN, an infinity with the same one, a zero of the reference with a
// zero of the same sign.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace hlo::math {

inline constexpr double kWrongClass = 1e30;

// The distance of `got` from `exact` in units of the last place of T.
template <class T, class Reference>
double UlpError(T got, Reference exact) {
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : kWrongClass;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // One of the two may be the largest number where the other has just overflowed.
    const bool close = std::signbit(got) == std::signbit(rounded) &&
                       std::fabs(std::isinf(got) ? rounded : got) == Limits::max();
    return close ? 1 : kWrongClass;
  }
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : kWrongClass;
  int exponent;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::fabs(static_cast<Reference>(got) - exact) /
                             std::ldexp(static_cast<Reference>(1), unit));
}

// The largest error seen, and where.
template <class T>
struct WorstError {
  double ulp = 0;
  T x = 0, y = 0;

  void Note(double error, T at_x, T at_y = 0) {
    if (error <= ulp) return;
    ulp = error;
    x = at_x;
    y = at_y;
  }
  std::string Where() const {
    char text[128];
    snprintf(text, sizeof(text), "%.4f ulp at %a, %a", ulp, static_cast<double>(x),
             static_cast<double>(y));
    return text;
  }
};

// Calls check on every stride-th bit pattern of f32; each stride visits other patterns if it is
// odd.
template <class Check>
void ForF32Patterns(uint32_t stride, Check check) {
  for (uint64_t i = 0; i < uint64_t{1} << 32; i += stride)
    check(std::bit_cast<float>(static_cast<uint32_t>(i)));
}

// Calls check on `count` doubles for each of: any bits, around 0, around 1, moderate, tiny; and on
// the ends.
template <class Check>
void ForF64Samples(int count, uint64_t seed, Check check) {
  std::mt19937_64 random(seed);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  for (int i = 0; i < count; ++i) {
    check(std::bit_cast<double>(random()));
    check(unit());
    check(unit() * 10);
    check(unit() * 750);
    check(1 + unit() * 0.05);
    check(std::ldexp(unit(), -static_cast<int>(random() % 60)));
  }
  using Limits = std::numeric_limits<double>;
  for (double x : {0.0, 1.0, 0.5, Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                   Limits::min(), Limits::max()}) {
    check(x);
    check(-x);
  }
}

}  // namespace hlo::math
