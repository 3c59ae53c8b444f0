#include "lib/types/float_types.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace hlo {
namespace {

template <class T>
std::vector<T> AllCodes() {
  std::vector<T> codes;
  for (uint32_t code = 0; code < (1u << T::kBits); ++code) codes.push_back(T::FromBits(code));
  return codes;
}

// The value of a code from the definition of the format, without any trick.
template <class T>
double ValueByDefinition(T x) {
  const int magnitude = x.bits & ((1 << (T::kExponentBits + T::kMantissaBits)) - 1);
  const int exponent = magnitude >> T::kMantissaBits;
  const int mantissa = magnitude & ((1 << T::kMantissaBits) - 1);
  const double fraction = mantissa / double(1 << T::kMantissaBits);
  const double sign = x.SignBit() ? -1 : 1;
  if (!T::kHasZero) return std::ldexp(1.0, exponent - T::kBias);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - T::kBias);
  return sign * std::ldexp(1 + fraction, exponent - T::kBias);
}

// Rounds by looking at all values, sorted: nearest, ties to the even code; beyond the last midpoint
// is overflow.
template <class T>
class SlowRounder {
 public:
  SlowRounder() {
    for (T x : AllCodes<T>()) {
      if (x.IsFinite() && !x.SignBit()) codes_.push_back(x);  // codes of positive values ascend
    }
  }

  T Round(double value) const {
    const bool negative = std::signbit(value);
    const double magnitude = std::fabs(value);
    const double top = codes_.back().ToDouble();
    // The next value if the exponents went on. The top code decides who wins the tie.
    const double beyond = top + (top - codes_[codes_.size() - 2].ToDouble());
    const double last_tie = (top + beyond) / 2;
    if (magnitude > last_tie || (magnitude == last_tie && codes_.back().bits % 2 == 1))
      return Overflow(negative);
    size_t i = std::upper_bound(codes_.begin(), codes_.end(), magnitude,
                                [](double v, T c) { return v < c.ToDouble(); }) -
               codes_.begin() - 1;
    if (i + 1 < codes_.size()) {
      const double low = magnitude - codes_[i].ToDouble(),
                   high = codes_[i + 1].ToDouble() - magnitude;
      if (high < low || (high == low && codes_[i].bits % 2 == 1)) ++i;
    }
    return WithSign(codes_[i], negative);
  }

 private:
  static T WithSign(T x, bool negative) {
    if (!negative || (x.bits == 0 && !T::kHasNegZero)) return x;
    return T::FromBits(x.bits | (1u << (T::kBits - 1)));
  }
  static T Overflow(bool negative) {
    switch (T::kFlavor) {
      case FloatFlavor::kIeee: return T::FromDouble(negative ? -INFINITY : INFINITY);
      case FloatFlavor::kFn: return T::FromBits(negative ? 0xff : 0x7f);
      case FloatFlavor::kFnuz: return T::FromBits(0x80);
      case FloatFlavor::kFinite: return negative ? T::Lowest() : T::Max();
      case FloatFlavor::kExponentOnly: return T::FromBits(0xff);
    }
    return {};
  }
  std::vector<T> codes_;
};

#define NARROW_FLOATS                                                                            \
  BF16, F16, F8E5M2, F8E4M3, F8E3M4, F8E4M3FN, F8E4M3B11FNUZ, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0FNU, \
      F4E2M1FN, F6E3M2FN, F6E2M3FN
#define SIGNED_NARROW_FLOATS                                                                    \
  BF16, F16, F8E5M2, F8E4M3, F8E3M4, F8E4M3FN, F8E4M3B11FNUZ, F8E4M3FNUZ, F8E5M2FNUZ, F4E2M1FN, \
      F6E3M2FN, F6E2M3FN

TEMPLATE_TEST_CASE("every code decodes to the value of its definition", "[types][float]",
                   NARROW_FLOATS) {
  for (TestType x : AllCodes<TestType>()) {
    CAPTURE(SmallFloatName<TestType>(), x.bits);
    if (x.IsNan()) {
      REQUIRE(std::isnan(x.ToFloat()));
      REQUIRE(std::isnan(x.ToDouble()));
    } else if (x.IsInf()) {
      REQUIRE(x.ToDouble() == (x.SignBit() ? -INFINITY : INFINITY));
      REQUIRE(x.ToFloat() == (x.SignBit() ? -INFINITY : INFINITY));
    } else {
      REQUIRE(x.ToDouble() == ValueByDefinition(x));
      REQUIRE(double{x.ToFloat()} == ValueByDefinition(x));
      REQUIRE(std::signbit(x.ToFloat()) == x.SignBit());
    }
  }
}

TEMPLATE_TEST_CASE("every code survives a trip through f32 and f64", "[types][float]",
                   NARROW_FLOATS) {
  for (TestType x : AllCodes<TestType>()) {
    CAPTURE(SmallFloatName<TestType>(), x.bits);
    // Signaling NaNs come back quiet.
    TestType expected = x;
    if (x.IsNan() && TestType::kFlavor == FloatFlavor::kIeee)
      expected.bits |= (1u << TestType::kMantissaBits) >> 1;
    REQUIRE(TestType::FromFloat(x.ToFloat()) == expected);
    REQUIRE(TestType::FromDouble(x.ToDouble()) == expected);
  }
}

TEMPLATE_TEST_CASE("rounding finds the nearest value, ties to even", "[types][float]",
                   SIGNED_NARROW_FLOATS) {
  const SlowRounder<TestType> slow;
  const auto check = [&](double value) {
    for (double v : {value, -value}) {
      const float f = static_cast<float>(v);
      const bool good = TestType::FromDouble(v) == slow.Round(v) &&
                        TestType::FromFloat(f) == slow.Round(double{f});
      if (good) continue;  // the macros below cost more than the conversions
      CAPTURE(SmallFloatName<TestType>(), v);
      REQUIRE(TestType::FromDouble(v) == slow.Round(v));
      REQUIRE(TestType::FromFloat(f) == slow.Round(double{f}));
    }
  };
  // Every value, every midpoint, and the neighbours of both.
  double previous = 0;
  for (TestType x : AllCodes<TestType>()) {
    if (!x.IsFinite() || x.SignBit()) continue;
    const double value = x.ToDouble(), middle = (value + previous) / 2;
    for (double v : {value, middle}) {
      check(v);
      check(std::nextafter(v, INFINITY));
      check(std::nextafter(v, 0));
      check(double{std::nextafter(static_cast<float>(v), INFINITY)});
      check(double{std::nextafter(static_cast<float>(v), 0.0f)});
    }
    previous = value;
  }
  const double top = TestType::Max().ToDouble();
  for (double factor : {1.0, 1.01, 1.02, 1.03125, 1.04, 1.0625, 1.1, 1.125, 1.25, 1.5, 2.0, 1e6})
    check(top * factor);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    check(double{std::bit_cast<float>(uint32_t(random() & 0x7f7fffff))});
    const int exponent = int(random() % 48) - 28;
    check(std::ldexp(double(random() >> 11), exponent - 53));
  }
}

TEMPLATE_TEST_CASE("f32 denormals, zeros, infinities and NaNs convert by the rule of the format",
                   "[types][float]", SIGNED_NARROW_FLOATS) {
  using T = TestType;
  CHECK(T::FromFloat(0.0f).bits == 0);
  CHECK(T::FromFloat(-0.0f).SignBit() == T::kHasNegZero);
  CHECK(T::FromFloat(-1e-44f).SignBit() == T::kHasNegZero);
  const T inf = T::FromFloat(INFINITY), nan = T::FromFloat(NAN), minus_nan = T::FromFloat(-NAN);
  switch (T::kFlavor) {
    case FloatFlavor::kIeee:
      CHECK(inf == T::Infinity());
      CHECK(nan == T::QuietNan());
      CHECK(minus_nan.IsNan());
      CHECK(minus_nan.SignBit());
      break;
    case FloatFlavor::kFn:
    case FloatFlavor::kFnuz:
      CHECK(inf.IsNan());
      CHECK(nan == T::QuietNan());
      CHECK(minus_nan.IsNan());
      break;
    case FloatFlavor::kFinite:
      CHECK(inf == T::Max());
      CHECK(T::FromFloat(-INFINITY) == T::Lowest());
      CHECK(nan.ToFloat() == 0);
      CHECK(nan.SignBit());
      CHECK(minus_nan == nan);
      break;
    case FloatFlavor::kExponentOnly: FAIL("not a signed format");
  }
}

TEST_CASE("f8e8m0fnu rounds to a power of two, ties up, and has neither zero nor sign",
          "[types][float]") {
  const auto code = [](float x) { return int{F8E8M0FNU::FromFloat(x).bits}; };
  for (float bad : {0.0f, -0.0f, -1.0f, NAN, -NAN, INFINITY, -INFINITY}) CHECK(code(bad) == 0xff);
  CHECK(code(1.0f) == 127);
  CHECK(code(1.4999f) == 127);
  CHECK(code(1.5f) == 128);
  CHECK(code(3.0f) == 129);
  CHECK(code(0x1.7ffffep127f) == 0xfe);
  CHECK(code(0x1.8p127f) == 0xff);
  CHECK(code(0x1p-149f) == 0);
  CHECK(code(0x1p-127f) == 0);
  CHECK(code(0x1.000004p-127f) == 1);  // up, although nearer to 2^-127
  CHECK(code(0x1p-126f) == 1);
  CHECK(code(0x1.8p-126f) == 2);
  CHECK(int{F8E8M0FNU::FromDouble(1e-300).bits} == 0);
  CHECK(int{F8E8M0FNU::FromDouble(0x1.0000001p-127).bits} == 1);
  CHECK(int{F8E8M0FNU::FromDouble(0x1.7ffffffffp-1).bits} == 126);
  CHECK(int{F8E8M0FNU::FromDouble(1e300).bits} == 0xff);
  CHECK(F8E8M0FNU::FromBits(0).ToFloat() == 0x1p-127f);
  // The rule on f32 bits, for all patterns that differ in the leading 16 bits.
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (uint32_t low : {0u, 1u, 0xffffu}) {
      const uint32_t u = high << 16 | low;
      const int expected = int32_t(u) <= 0 || u >= 0x7f400000 ? 0xff
                           : u <= 0x00400000                  ? 0
                                                              : int((u + 0x00400000) >> 23);
      REQUIRE(code(std::bit_cast<float>(u)) == expected);
    }
  }
}

TEST_CASE("known encodings", "[types][float]") {
  struct Row {
    float x;
    int e5m2, e4m3, e3m4, e4m3fn, b11, e4m3fnuz, e5m2fnuz, f4, f6e2m3, f6e3m2;
  };
  const Row rows[] = {
      {1.0f, 0x3c, 0x38, 0x30, 0x38, 0x58, 0x40, 0x40, 0x2, 0x08, 0x0c},
      {-2.5f, 0xc1, 0xc2, 0xc4, 0xc2, 0xe2, 0xca, 0xc5, 0xc, 0x32, 0x31},
      {0.1f, 0x2e, 0x1d, 0x06, 0x1d, 0x3d, 0x25, 0x32, 0x0, 0x01, 0x02},
      {1.1875f, 0x3d, 0x3a, 0x33, 0x3a, 0x5a, 0x42, 0x41, 0x2, 0x0a, 0x0d},
      {31.0f, 0x50, 0x60, 0x70, 0x60, 0x80, 0x68, 0x54, 0x7, 0x1f, 0x1f},
      {464.0f, 0x5f, 0x78, 0x70, 0x7e, 0x80, 0x80, 0x63, 0x7, 0x1f, 0x1f},
      {464.1f, 0x5f, 0x78, 0x70, 0x7f, 0x80, 0x80, 0x63, 0x7, 0x1f, 0x1f},
      {61440.0f, 0x7c, 0x78, 0x70, 0x7f, 0x80, 0x80, 0x80, 0x7, 0x1f, 0x1f},
      {NAN, 0x7e, 0x7c, 0x78, 0x7f, 0x80, 0x80, 0x80, 0x8, 0x20, 0x20},
      {-0.0f, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00, 0x00, 0x8, 0x20, 0x20},
      {0x1p-10f, 0x14, 0x00, 0x00, 0x00, 0x08, 0x01, 0x18, 0x0, 0x00, 0x00},
  };
  for (const Row& row : rows) {
    CAPTURE(row.x);
    CHECK(int{F8E5M2::FromFloat(row.x).bits} == row.e5m2);
    CHECK(int{F8E4M3::FromFloat(row.x).bits} == row.e4m3);
    CHECK(int{F8E3M4::FromFloat(row.x).bits} == row.e3m4);
    CHECK(int{F8E4M3FN::FromFloat(row.x).bits} == row.e4m3fn);
    CHECK(int{F8E4M3B11FNUZ::FromFloat(row.x).bits} == row.b11);
    CHECK(int{F8E4M3FNUZ::FromFloat(row.x).bits} == row.e4m3fnuz);
    CHECK(int{F8E5M2FNUZ::FromFloat(row.x).bits} == row.e5m2fnuz);
    CHECK(int{F4E2M1FN::FromFloat(row.x).bits} == row.f4);
    CHECK(int{F6E2M3FN::FromFloat(row.x).bits} == row.f6e2m3);
    CHECK(int{F6E3M2FN::FromFloat(row.x).bits} == row.f6e3m2);
  }
}

TEST_CASE("limits of the formats", "[types][float]") {
  CHECK(F16::Max().ToFloat() == 65504.0f);
  CHECK(F16::FromFloat(65519.0f) == F16::Max());
  CHECK(F16::FromFloat(65520.0f).IsInf());
  CHECK(BF16::Max().bits == 0x7f7f);
  CHECK(F8E5M2::Max().ToFloat() == 57344.0f);
  CHECK(F8E4M3FN::Max().ToFloat() == 448.0f);
  CHECK(F8E4M3B11FNUZ::Max().ToFloat() == 30.0f);
  CHECK(F8E8M0FNU::Max().ToFloat() == 0x1p127f);
  CHECK(F4E2M1FN::Max().ToFloat() == 6.0f);
  CHECK(F6E2M3FN::Max().ToFloat() == 7.5f);
  CHECK(F6E3M2FN::Max().ToFloat() == 28.0f);
  CHECK(F8E4M3FN::Lowest().ToFloat() == -448.0f);
  CHECK(F8E5M2FNUZ::SmallestPositive().ToFloat() == 0x1p-17f);
  CHECK(F8E5M2FNUZ::MinNormal().ToFloat() == 0x1p-15f);
  // Rounded once: through f32 this would be the tie 1 + 2^-8, and hence 1.
  CHECK(BF16::FromDouble(1 + 0x1p-8 + 0x1p-45).ToDouble() == 1 + 0x1p-7);
  static_assert(F16::FromFloat(1.5f).bits == 0x3e00);
}

}  // namespace
}  // namespace hlo
