// Complex functions against std::complex<long double>, on both sides of their cuts and at their
// corners.
#include "lib/math/complex.h"

#include <catch2/catch.hpp>
#include <complex>
#include <random>

namespace hlo::math {
namespace {

using Reference = std::complex<long double>;

template <class T>
Reference Exact(Complex<T> z) {
  return {z.re, z.im};
}

// |got - want| / |want| in units of the epsilon of T.
template <class T>
double RelativeError(Complex<T> got, Reference want) {
  const long double size = std::abs(want);
  if (size == 0) return got.re == 0 && got.im == 0 ? 0 : 1e30;
  const auto error = static_cast<double>(std::abs(Exact(got) - want) / size);
  return std::isnan(error) ? 1e30 : error / static_cast<double>(std::numeric_limits<T>::epsilon());
}

// std::exp(z) - 1 cancels near 0: 2 e^(z/2) sinh(z/2) does not.
Reference Expm1Reference(Reference z) { return 2.0L * std::exp(z / 2.0L) * std::sinh(z / 2.0L); }

// name, reference for z, largest argument, largest error in epsilons (f32, f64).
#define HLO_COMPLEX_ROWS(X)                          \
  X(Exp, std::exp(z), 50, 1, 2)                      \
  X(Expm1, Expm1Reference(z), 8, 1, 4)               \
  X(Log, std::log(z), 100, 1, 2)                     \
  X(Sqrt, std::sqrt(z), 1000, 1, 2)                  \
  X(Rsqrt, 1.0L / std::sqrt(z), 1000, 1, 4)          \
  X(Sin, std::sin(z), 20, 1, 3)                      \
  X(Cos, std::cos(z), 20, 1, 3)                      \
  X(Tan, std::tan(z), 20, 1, 4)                      \
  X(Tanh, std::tanh(z), 20, 1, 4)                    \
  X(Sinh, std::sinh(z), 20, 1, 3)                    \
  X(Cosh, std::cosh(z), 20, 1, 3)                    \
  X(Asin, std::asin(z), 20, 1, 3)                    \
  X(Acos, std::acos(z), 20, 1, 3)                    \
  X(Asinh, std::asinh(z), 20, 1, 3)                  \
  X(Acosh, std::acosh(z), 20, 1, 3)                  \
  X(Atanh, std::atanh(z), 20, 1, 3)                  \
  X(Logistic, 1.0L / (1.0L + std::exp(-z)), 3, 1, 4) \
  X(Sign, z / std::abs(z), 1000, 2, 2)

template <class T>
struct Row {
  const char* name;
  Complex<T> (*function)(Complex<T>);
  Reference (*reference)(Reference);
  double range;
  double limit;
};

TEMPLATE_TEST_CASE("complex functions keep their error", "[math][complex]", float, double) {
  using T = TestType;
#define HLO_ROW(F, reference, range, f32_limit, f64_limit)                                    \
  {#F, [](Complex<T> z) { return F(z); }, [](Reference z) -> Reference { return reference; }, \
   range, sizeof(T) == 4 ? f32_limit : f64_limit},
  const Row<T> rows[] = {HLO_COMPLEX_ROWS(HLO_ROW)};
#undef HLO_ROW
  for (const Row<T>& row : rows) {
    std::mt19937_64 random(5);
    const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
    double worst = 0;
    Complex<T> at = {0, 0};
    for (int i = 0; i < 8000; ++i) {
      double a = unit() * row.range, b = unit() * row.range;
      if (i % 3 == 1) a *= 1e-3;
      if (i % 5 == 1) b *= 1e-4;
      if (i % 7 == 1) b = std::copysign(0.0, b);  // both sides of every cut
      if (i % 11 == 1) a = std::copysign(0.0, a);
      const Complex<T> z = {static_cast<T>(a), static_cast<T>(b)};
      if (z.re == 0 && z.im == 0) continue;  // corners: below
      // sqrt knows only one side of its cut.
      const bool upper = std::string_view(row.name) == "Sqrt" && z.im == 0;
      const double error =
          RelativeError(row.function(z), row.reference(upper ? Reference(z.re, 0) : Exact(z)));
      if (error <= worst) continue;
      worst = error;
      at = z;
    }
    INFO(row.name << ": " << worst << " epsilons at " << at.re << ", " << at.im);
    CHECK(worst <= row.limit);
  }
}

TEST_CASE("complex log1p is accurate near 0 and on the unit circle", "[math][complex]") {
  const auto check = [](float a, float b) {
    CAPTURE(a, b);
    CHECK(RelativeError(Log1p(Complex<float>{a, b}), std::log(1.0L + Reference(a, b))) <= 2);
  };
  check(1e-3f, -1e-3f);
  check(0.5f, 2);
  check(-1.5f, 1e-20f);
  check(-1.5f, -1e-20f);
  check(-0.3f, 0.7141428f);
  check(3e30f, 2e30f);
  const Complex<double> tiny = Log1p(Complex<double>{1e-20, 1e-25});
  CHECK(tiny.re == 1e-20);
  CHECK(tiny.im == 1e-25);
}

TEMPLATE_TEST_CASE("complex arithmetic", "[math][complex]", float, double) {
  using T = TestType;
  std::mt19937_64 random(8);
  const auto sample = [&] {
    return static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  };
  for (int i = 0; i < 3000; ++i) {
    const Complex<T> z = {sample(), sample()}, w = {sample(), sample()};
    REQUIRE(RelativeError(Add(z, w), Exact(z) + Exact(w)) <= 1);
    REQUIRE(RelativeError(Mul(z, w), Exact(z) * Exact(w)) <= 2);
    REQUIRE(RelativeError(Div(z, w), Exact(z) / Exact(w)) <= 3);
    REQUIRE(std::fabs(Abs(z) - static_cast<T>(std::abs(Exact(z)))) <=
            2 * std::numeric_limits<T>::epsilon());
    const Complex<T> exponent = {w.re * 8, w.im * 8};
    REQUIRE(RelativeError(Pow(z, exponent), std::pow(Exact(z), Exact(exponent))) <=
            (sizeof(T) == 4 ? 1 : 60));
  }
  const T huge = std::numeric_limits<T>::max() / 2;
  CHECK(RelativeError(Div(Complex<T>{huge, huge}, Complex<T>{huge, -huge}), Reference(0, 1)) <= 2);
  CHECK(std::isfinite(Abs(Complex<T>{huge, huge})));
  CHECK(RelativeError(Sqrt(Complex<T>{huge, huge}), std::sqrt(Reference(huge, huge))) <= 2);
}

TEST_CASE("complex functions at their corners", "[math][complex]") {
  using C = Complex<float>;
  constexpr float kInfinity = INFINITY;
  const auto is = [](C got, float re, float im) {
    const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    INFO("got " << got.re << ", " << got.im);
    return same(got.re, re) && same(got.im, im);
  };
  CHECK(is(Sign(C{0, -0.0f}), 0, 0));
  CHECK(is(Sqrt(C{-4, 0}), 0, 2));
  CHECK(is(Sqrt(C{-4, -0.0f}), 0, 2));
  CHECK(is(Sqrt(C{-kInfinity, 1}), 0, kInfinity));
  CHECK(is(Sqrt(C{1, -kInfinity}), kInfinity, -kInfinity));
  CHECK(is(Rsqrt(C{0, 0}), kInfinity, NAN));
  CHECK(is(Rsqrt(C{-kInfinity, 1}), 0, 0));
  CHECK(is(Rsqrt(C{-4, -0.0f}), 0, 0.5f));
  CHECK(is(Log(C{0, 0}), -kInfinity, 0));
  CHECK(is(Exp(C{kInfinity, 0}), kInfinity, 0));
  CHECK(is(Exp(C{90, 3.14159274f * 0.5f}),
           0x1p0f * static_cast<float>(std::exp(90.0) * std::cos(double{3.14159274f * 0.5f})),
           kInfinity));
  CHECK(is(Tanh(C{200, 1}), 1, 0));
  CHECK(is(Tanh(C{-kInfinity, NAN}), -1, 0));
  CHECK(is(Sin(C{0, kInfinity}), 0, kInfinity));
  CHECK(is(Cos(C{kInfinity, kInfinity}), kInfinity, NAN));
  CHECK(is(Logistic(C{-kInfinity, kInfinity}), 0, 0));
  CHECK(is(Logistic(C{kInfinity, NAN}), 1, 0));
  CHECK(is(Pow(C{0, 0}, C{0, 0}), 1, 0));
  CHECK(is(Pow(C{0, 0}, C{2, 0}), 0, 0));
  CHECK(is(Pow(C{NAN, 1}, C{0, 0}), 1, 0));
  CHECK(is(Pow(C{kInfinity, 0}, C{-2, 0}), 0, 0));
  CHECK(is(Div(C{1, 1}, C{0, 0}), kInfinity, kInfinity));
  CHECK(is(Div(C{1, 1}, C{kInfinity, 1}), 0, 0));
  CHECK(is(Div(C{kInfinity, 1}, C{1, 0}), kInfinity, NAN));
  CHECK(Abs(C{-kInfinity, NAN}) == kInfinity);
  CHECK(NotEqual(C{1, NAN}, C{1, NAN}));
  CHECK(Equal(C{0, -0.0f}, C{-0.0f, 0}));
  // Both sides of the cut of log.
  CHECK(Log(C{-1, 0}).im > 3);
  CHECK(Log(C{-1, -0.0f}).im < -3);
}

}  // namespace
}  // namespace hlo::math
