// What functions give at zeros, infinities, NaN, the ends of their domains, and in both denormal
// modes.
#include <catch2/catch.hpp>
#include <vector>

#include "lib/math/erf_gamma.h"
#include "lib/math/hyperbolic.h"
#include "lib/math/roots_powers.h"
#include "lib/math/rounding.h"
#include "lib/math/trig.h"
#include "lib/support/denormals.h"

namespace hlo::math {
namespace {

template <class T>
bool Identical(T a, T b) {
  return Bits(a) == Bits(b) || (a != a && b != b);
}

constexpr double kHalfPiValue = 0x1.921fb54442d18p0;

#define HLO_EXPECT(F, x, expected)                                    \
  {                                                                   \
    INFO(#F << "(" << x << ") is " << F(static_cast<T>(x)));          \
    CHECK(Identical(F(static_cast<T>(x)), static_cast<T>(expected))); \
  }

TEMPLATE_TEST_CASE("functions at special points", "[math][special]", float, double) {
  using T = TestType;
  // Odd functions keep the sign of a zero, and NaN passes everywhere.
#define HLO_ODD(F)          \
  HLO_EXPECT(F, 0.0, 0.0)   \
  HLO_EXPECT(F, -0.0, -0.0) \
  HLO_EXPECT(F, kNan, kNan)
  HLO_ODD(Expm1);
  HLO_ODD(Log1p);
  HLO_ODD(Tanh);
  HLO_ODD(Erf);
  HLO_ODD(Sin);
  HLO_ODD(Tan);
  HLO_ODD(Asin);
  HLO_ODD(Atan);
  HLO_ODD(Sinh);
  HLO_ODD(Asinh);
  HLO_ODD(Atanh);
  HLO_ODD(Cbrt);
  HLO_ODD(Sign);
  HLO_ODD(RoundNearestAfz);
  HLO_ODD(Sqrt);
  HLO_EXPECT(Exp, -kInf, 0.0);
  HLO_EXPECT(Exp, kInf, kInf);
  HLO_EXPECT(Exp, 0.0, 1.0);
  HLO_EXPECT(Exp, kNan, kNan);
  HLO_EXPECT(Exp, 1000, kInf);
  HLO_EXPECT(Exp, -1000, 0.0);
  HLO_EXPECT(Expm1, -kInf, -1.0);
  HLO_EXPECT(Expm1, kInf, kInf);
  HLO_EXPECT(Expm1, -500, -1.0);
  HLO_EXPECT(Log, 0.0, -kInf);
  HLO_EXPECT(Log, -0.0, -kInf);
  HLO_EXPECT(Log, -1.0, kNan);
  HLO_EXPECT(Log, kInf, kInf);
  HLO_EXPECT(Log, 1.0, 0.0);
  HLO_EXPECT(Log, kNan, kNan);
  HLO_EXPECT(Log, -kInf, kNan);
  HLO_EXPECT(Log1p, -1.0, -kInf);
  HLO_EXPECT(Log1p, -1.5, kNan);
  HLO_EXPECT(Log1p, kInf, kInf);
  HLO_EXPECT(Log1p, -kInf, kNan);
  HLO_EXPECT(Logistic, -kInf, 0.0);
  HLO_EXPECT(Logistic, kInf, 1.0);
  HLO_EXPECT(Logistic, 0.0, 0.5);
  HLO_EXPECT(Logistic, kNan, kNan);
  HLO_EXPECT(Logistic, -1e4, 0.0);
  HLO_EXPECT(Rsqrt, 0.0, kInf);
  HLO_EXPECT(Rsqrt, -0.0, -kInf);
  HLO_EXPECT(Rsqrt, kInf, 0.0);
  HLO_EXPECT(Rsqrt, -1.0, kNan);
  HLO_EXPECT(Sqrt, -1.0, kNan);
  HLO_EXPECT(Cbrt, kInf, kInf);
  HLO_EXPECT(Cbrt, -kInf, -kInf);
  HLO_EXPECT(Cbrt, -8, -2);
  HLO_EXPECT(Cbrt, 27, 3);
  HLO_EXPECT(Sin, kInf, kNan);
  HLO_EXPECT(Cos, kInf, kNan);
  HLO_EXPECT(Tan, kInf, kNan);
  HLO_EXPECT(Cos, kNan, kNan);
  HLO_EXPECT(Sin, -kInf, kNan);
  HLO_EXPECT(Cos, 0.0, 1.0);
  HLO_EXPECT(Tanh, kInf, 1.0);
  HLO_EXPECT(Tanh, -kInf, -1.0);
  HLO_EXPECT(Tanh, 1e6, 1.0);
  HLO_EXPECT(Erf, kInf, 1.0);
  HLO_EXPECT(Erf, -kInf, -1.0);
  HLO_EXPECT(Erf, -1e6, -1.0);
  HLO_EXPECT(Asin, 1.0, kHalfPiValue);
  HLO_EXPECT(Asin, 1.25, kNan);
  HLO_EXPECT(Acos, -1.25, kNan);
  HLO_EXPECT(Acos, 1.0, 0.0);
  HLO_EXPECT(Acos, -1.0, 2 * kHalfPiValue);
  HLO_EXPECT(Acos, kNan, kNan);
  HLO_EXPECT(Atan, kInf, kHalfPiValue);
  HLO_EXPECT(Atan, -kInf, -kHalfPiValue);
  HLO_EXPECT(Acosh, 1.0, 0.0);
  HLO_EXPECT(Acosh, 0.5, kNan);
  HLO_EXPECT(Acosh, -5.0, kNan);
  HLO_EXPECT(Acosh, kInf, kInf);
  HLO_EXPECT(Acosh, kNan, kNan);
  HLO_EXPECT(Asinh, kInf, kInf);
  HLO_EXPECT(Asinh, -kInf, -kInf);
  HLO_EXPECT(Atanh, 1.0, kInf);
  HLO_EXPECT(Atanh, -1.0, -kInf);
  HLO_EXPECT(Atanh, 1.5, kNan);
  HLO_EXPECT(Atanh, kInf, kNan);
  HLO_EXPECT(Sinh, kInf, kInf);
  HLO_EXPECT(Sinh, -kInf, -kInf);
  HLO_EXPECT(Cosh, kInf, kInf);
  HLO_EXPECT(Cosh, -kInf, kInf);
  HLO_EXPECT(Cosh, 0.0, 1.0);
  HLO_EXPECT(Cosh, kNan, kNan);
  HLO_EXPECT(Sign, -3.5, -1.0);
  HLO_EXPECT(Sign, kInf, 1.0);
  HLO_EXPECT(RoundNearestAfz, 0.5, 1.0);
  HLO_EXPECT(RoundNearestAfz, -2.5, -3.0);
  HLO_EXPECT(RoundNearestAfz, -0.3, -0.0);
  HLO_EXPECT(RoundNearestAfz, 0.49999997f, 0.0);
  HLO_EXPECT(RoundNearestAfz, 8388609, 8388609);
  HLO_EXPECT(RoundNearestAfz, kInf, kInf);
  HLO_EXPECT(RoundEven, 0.5, 0.0);
  HLO_EXPECT(RoundEven, 2.5, 2.0);
  HLO_EXPECT(RoundEven, -0.5, -0.0);
  HLO_EXPECT(Ceil, -0.3, -0.0);
  HLO_EXPECT(Floor, -0.0, -0.0);
}

TEMPLATE_TEST_CASE("pow follows C", "[math][special]", float, double) {
  using T = TestType;
  const double points[] = {
      0.0, 0.5, 1, 1.5, 2, 3, 4, 1e30, 1e-30, kInf, kNan, 16777215, 9007199254740991.0};
  std::vector<T> values;
  for (double p : points) {
    values.push_back(static_cast<T>(p));
    values.push_back(static_cast<T>(-p));
  }
  for (T x : values) {
    for (T y : values) {
      const T expected =
          static_cast<T>(std::pow(static_cast<long double>(x), static_cast<long double>(y)));
      const T got = Pow(x, y);
      CAPTURE(x, y, got, expected);
      // One unit of tolerance for numbers; classes and signs must be the same.
      const bool number = std::isfinite(expected) && expected != 0;
      CHECK((number ? std::fabs(got / expected - 1) <= std::numeric_limits<T>::epsilon()
                    : Identical(got, expected)));
    }
  }
}

TEMPLATE_TEST_CASE("atan2 follows C in every quadrant and at every special pair", "[math][special]",
                   float, double) {
  using T = TestType;
  std::vector<T> values;
  for (double p : {0.0, 1e-30, 0.5, 1.0, 2.0, 1e30, kInf, kNan}) {
    values.push_back(static_cast<T>(p));
    values.push_back(static_cast<T>(-p));
  }
  for (T y : values) {
    for (T x : values) {
      const T expected =
          static_cast<T>(std::atan2(static_cast<long double>(y), static_cast<long double>(x)));
      const T got = Atan2(y, x);
      CAPTURE(y, x, got, expected);
      const bool number = std::isfinite(expected) && expected != 0;
      CHECK((number ? std::fabs(got / expected - 1) <= std::numeric_limits<T>::epsilon()
                    : Identical(got, expected)));
    }
  }
}

TEMPLATE_TEST_CASE("minimum, maximum and clamp", "[math][special]", float, double) {
  using T = TestType;
  const T nan = static_cast<T>(kNan), inf = static_cast<T>(kInf);
  for (T a : {T(-2), T(-0.0), T(0.0), T(1), inf, -inf}) {
    for (T b : {T(-2), T(-0.0), T(0.0), T(1), inf, -inf}) {
      CAPTURE(a, b);
      const bool a_first = a < b || (a == b && std::signbit(a));
      CHECK(Identical(Min(a, b), a_first ? a : b));
      CHECK(Identical(Max(a, b), a_first ? b : a));
    }
    CHECK(std::isnan(Min(a, nan)));
    CHECK(std::isnan(Min(nan, a)));
    CHECK(std::isnan(Max(a, nan)));
    CHECK(std::isnan(Max(nan, a)));
  }
  CHECK(Clamp(T(5), T(3), T(4)) == 4);
  CHECK(Clamp(T(0), T(3), T(4)) == 3);
  CHECK(std::isnan(Clamp(nan, T(3), T(4))));
  CHECK(std::isnan(Clamp(T(0), T(3), nan)));
}

TEST_CASE("total order ranks every kind of float", "[math][special]") {
  const float ascending[] = {FromBits(int32_t(0xffc00001)),
                             FromBits(int32_t(0xffc00000)),
                             -INFINITY,
                             -1.0f,
                             -1e-45f,
                             -0.0f,
                             0.0f,
                             1e-45f,
                             1.0f,
                             INFINITY,
                             FromBits(int32_t(0x7fc00000)),
                             FromBits(int32_t(0x7fc00001))};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
    CAPTURE(i);
    CHECK(TotalOrderKey(ascending[i]) < TotalOrderKey(ascending[i + 1]));
  }
}

TEST_CASE("reduced precision rounds, overflows and flushes", "[math][special]") {
  CHECK(ReducePrecision(1 + 0x1p-11f, 5, 10) == 1.0f);           // a tie, to even
  CHECK(ReducePrecision(1 + 0x1.8p-10f, 5, 10) == 1 + 0x1p-9f);  // a tie, to even
  CHECK(ReducePrecision(65520.0f, 5, 10) == INFINITY);
  CHECK(ReducePrecision(-65519.0f, 5, 10) == -65504.0f);
  CHECK(
      Identical(ReducePrecision(-0x1p-15f, 5, 10), -0.0f));  // denormals of the target are flushed
  CHECK(ReducePrecision(0x1p-14f, 5, 10) == 0x1p-14f);
  CHECK(ReducePrecision(0x1.ffffp-15f, 5, 10) == 0x1p-14f);  // rounds up into the normal range
  CHECK(std::isnan(ReducePrecision(NAN, 5, 2)));
  CHECK(ReducePrecision(-NAN, 8, 0) == INFINITY);
  CHECK(ReducePrecision(-INFINITY, 3, 0) == -INFINITY);
  CHECK(ReducePrecision(1.5f, 8, 0) ==
        2.0f);  // a tie between 1 (exponent code 127) and 2 (code 128): even is 2
  CHECK(ReducePrecision(3.0f, 8, 0) == 2.0f);
  CHECK(ReducePrecision(0x1p-149f, 8, 23) == 0x1p-149f);
  CHECK(ReducePrecision(1 + 0x1p-30, 11, 20) == 1.0);
  CHECK(ReducePrecision(1e300, 8, 52) == kInf);
  CHECK(ReducePrecisionBits(int16_t{0x3c01}, {5, 10}, {5, 9}) == 0x3c00);
  CHECK(ReducePrecisionBits(int16_t{0x0001}, {5, 10}, {5, 10}) == 0x0001);
}

// Normal operands with normal results must not notice the mode: no step in between may depend on a
// denormal.
TEMPLATE_TEST_CASE("flushing denormals changes no normal result", "[math][denormals]", float,
                   double) {
  using T = TestType;
  struct Row {
    const char* name;
    T (*function)(T);
  };
#define HLO_ROW(F) {#F, [](T x) { return F(x); }},
  const Row rows[] = {HLO_ROW(Exp) HLO_ROW(Expm1) HLO_ROW(Log) HLO_ROW(Log1p) HLO_ROW(Logistic)
                          HLO_ROW(Tanh) HLO_ROW(Erf) HLO_ROW(Sin) HLO_ROW(Cos) HLO_ROW(Tan)
                              HLO_ROW(Asin) HLO_ROW(Acos) HLO_ROW(Atan) HLO_ROW(Sinh) HLO_ROW(Cosh)
                                  HLO_ROW(Asinh) HLO_ROW(Acosh) HLO_ROW(Atanh) HLO_ROW(Rsqrt)
                                      HLO_ROW(Cbrt)};
#undef HLO_ROW
  std::vector<T> samples;
  for (int exponent = std::numeric_limits<T>::min_exponent - 1;
       exponent < std::numeric_limits<T>::max_exponent; ++exponent) {
    for (T mantissa : {T(1), T(1.2345), T(1.9999)}) {
      samples.push_back(std::ldexp(mantissa, exponent));
      samples.push_back(-std::ldexp(mantissa, exponent));
    }
  }
  for (const Row& row : rows) {
    for (T x : samples) {
      const T kept = row.function(x);
      const bool is_denormal = std::fpclassify(kept) == FP_SUBNORMAL;
      ScopedDenormals flush(Denormals::kFlush);
      volatile T input = x;
      const T flushed = row.function(input);
      const bool same =
          Bits(kept) == Bits(flushed) || (std::isnan(kept) && std::isnan(flushed)) || is_denormal;
      if (!same)
        FAIL_CHECK(row.name << "(" << static_cast<double>(x) << "): " << Bits(kept) << " against "
                            << Bits(flushed));
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace hlo::math
