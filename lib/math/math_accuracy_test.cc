// The largest error of every function over all floats (sampled), as promised in README.md.
//
// `math_test "[accuracy]"` looks at every 9973rd f32; `math_test "[.exhaustive]"` at every 31st
// (minutes).
#include <catch2/catch.hpp>

#include "lib/math/accuracy_test_util.h"
#include "lib/math/erf_gamma.h"
#include "lib/math/hyperbolic.h"
#include "lib/math/roots_powers.h"
#include "lib/math/trig.h"

namespace hlo::math {
namespace {

// name, reference, largest error of f32 and of f64. The references compute in `x`'s type: double or
// long double.
#define HLO_ACCURACY(X)                         \
  X(Exp, std::exp(x), 1.1, 1.1)                 \
  X(Expm1, std::expm1(x), 1.5, 1.9)             \
  X(Log, std::log(x), 1.0, 1.0)                 \
  X(Log1p, std::log1p(x), 1.0, 1.0)             \
  X(Logistic, 1 / (1 + std::exp(-x)), 2.0, 2.0) \
  X(Tanh, std::tanh(x), 1.6, 1.6)               \
  X(Erf, std::erf(x), 1.3, 1.5)                 \
  X(Sin, std::sin(x), 1.7, 1.7)                 \
  X(Cos, std::cos(x), 1.7, 1.7)                 \
  X(Tan, std::tan(x), 0.51, 3.5)                \
  X(Asin, std::asin(x), 0.51, 2.2)              \
  X(Acos, std::acos(x), 0.51, 1.5)              \
  X(Atan, std::atan(x), 0.51, 2.2)              \
  X(Sinh, std::sinh(x), 0.51, 2.6)              \
  X(Cosh, std::cosh(x), 0.51, 1.6)              \
  X(Asinh, std::asinh(x), 0.51, 2.0)            \
  X(Acosh, std::acosh(x), 0.51, 2.2)            \
  X(Atanh, std::atanh(x), 0.51, 2.0)            \
  X(Cbrt, std::cbrt(x), 0.51, 0.7)              \
  X(Rsqrt, 1 / std::sqrt(x), 1.5, 1.5)

struct F32Row {
  const char* name;
  float (*function)(float);
  double (*reference)(double);
  double limit;
};
constexpr F32Row kF32Rows[] = {
#define HLO_ROW(F, reference, f32_limit, f64_limit) \
  {#F, [](float x) { return F(x); }, [](double x) -> double { return reference; }, f32_limit},
    HLO_ACCURACY(HLO_ROW)
#undef HLO_ROW
};

struct F64Row {
  const char* name;
  double (*function)(double);
  long double (*reference)(long double);
  double limit;
};
constexpr F64Row kF64Rows[] = {
#define HLO_ROW(F, reference, f32_limit, f64_limit)                                           \
  {#F, [](double x) { return F(x); }, [](long double x) -> long double { return reference; }, \
   f64_limit},
    HLO_ACCURACY(HLO_ROW)
#undef HLO_ROW
};

void CheckF32(uint32_t stride) {
  for (const F32Row& row : kF32Rows) {
    WorstError<float> worst;
    ForF32Patterns(stride,
                   [&](float x) { worst.Note(UlpError(row.function(x), row.reference(x)), x); });
    INFO(row.name << ": " << worst.Where());
    CHECK(worst.ulp <= row.limit);
  }
}

TEST_CASE("f32 functions keep their error", "[math][accuracy]") { CheckF32(9973); }
TEST_CASE("f32 functions keep their error, densely", "[.exhaustive]") { CheckF32(31); }

TEST_CASE("f64 functions keep their error", "[math][accuracy]") {
  for (const F64Row& row : kF64Rows) {
    WorstError<double> worst;
    ForF64Samples(10000, 7,
                  [&](double x) { worst.Note(UlpError(row.function(x), row.reference(x)), x); });
    INFO(row.name << ": " << worst.Where());
    CHECK(worst.ulp <= row.limit);
  }
}

TEST_CASE("sin and cos are right where an argument nearly is a multiple of pi/2",
          "[math][accuracy]") {
  // The f64 nearest to a multiple of pi/2 of all, and the like for f32.
  const double worst = std::ldexp(6381956970095103.0, 797);
  CHECK(UlpError(Cos(worst), std::cos(static_cast<long double>(worst))) <= 1.7);
  CHECK(Cos(worst) == Approx(-4.68716592425462761112e-19).epsilon(1e-15));
  for (float x : {0x1.49cbccp+19f, 0x1.5fe836p+115f, 0x1.921fb6p0f, 0x1.921fb6p1f, 0x1.1475cap+90f,
                  65535.99f, 65536.0f}) {
    CHECK(UlpError(Sin(x), std::sin(double{x})) <= 1.7);
    CHECK(UlpError(Cos(x), std::cos(double{x})) <= 1.7);
  }
}

// Pairs of any size, and pairs whose power neither over- nor underflows.
template <class T, class Check>
void ForPairs(int count, Check check) {
  std::mt19937_64 random(11);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  const double range = sizeof(T) == 4 ? 88 : 709;
  for (int i = 0; i < count; ++i) {
    const T x = FromBits(static_cast<IntOf<T>>(random())),
            y = FromBits(static_cast<IntOf<T>>(random()));
    check(x, y);
    check(x, static_cast<T>(unit() * range / std::log(std::fabs(static_cast<double>(x)))));
    const T near_one = static_cast<T>(1 + unit() * 0.01);
    check(near_one, static_cast<T>(unit() * range / std::log1p(near_one - 1)));
    check(static_cast<T>(std::rint(unit() * 30)), static_cast<T>(std::rint(unit() * 50)));
    check(static_cast<T>(unit() * 3), static_cast<T>(unit() * 3));
  }
}

TEST_CASE("pow and atan2 keep their error", "[math][accuracy]") {
  WorstError<float> pow32, atan32;
  ForPairs<float>(20000, [&](float x, float y) {
    pow32.Note(UlpError(Pow(x, y), std::pow(double{x}, double{y})), x, y);
    atan32.Note(UlpError(Atan2(x, y), std::atan2(double{x}, double{y})), x, y);
  });
  INFO("f32 pow " << pow32.Where() << ", atan2 " << atan32.Where());
  CHECK(pow32.ulp <= 0.51);
  CHECK(atan32.ulp <= 0.51);
  WorstError<double> pow64, atan64;
  ForPairs<double>(20000, [&](double x, double y) {
    using L = long double;
    pow64.Note(UlpError(Pow(x, y), std::pow(static_cast<L>(x), static_cast<L>(y))), x, y);
    atan64.Note(UlpError(Atan2(x, y), std::atan2(static_cast<L>(x), static_cast<L>(y))), x, y);
  });
  INFO("f64 pow " << pow64.Where() << ", atan2 " << atan64.Where());
  CHECK(pow64.ulp <= 1.0);
  CHECK(atan64.ulp <= 2.5);
}

}  // namespace
}  // namespace hlo::math
