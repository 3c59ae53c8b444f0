#include "lib/math/convert.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace hlo::math {
namespace {

bool SameFloat(float a, float b) { return Bits(a) == Bits(b) || (a != a && b != b); }

#define NARROW_FLOATS                                                                            \
  BF16, F16, F8E5M2, F8E4M3, F8E3M4, F8E4M3FN, F8E4M3B11FNUZ, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0FNU, \
      F4E2M1FN, F6E3M2FN, F6E2M3FN

TEMPLATE_TEST_CASE("narrow floats convert on values as the types do", "[math][convert]",
                   NARROW_FLOATS) {
  using S = TestType;
  CAPTURE(SmallFloatName<S>());
  for (int32_t code = 0; code < 1 << S::kBits; ++code) {
    const S x = S::FromBits(static_cast<uint32_t>(code));
    CAPTURE(code);
    REQUIRE(SameFloat(DecodeFloat<S>(code), x.ToFloat()));
    // Values, midpoints, and their neighbours.
    const S next = S::FromBits(static_cast<uint32_t>(code + 1));
    if (!x.IsFinite() || !next.IsFinite()) continue;
    const float middle = static_cast<float>((x.ToDouble() + next.ToDouble()) / 2);
    for (float v : {x.ToFloat(), middle, std::nextafter(middle, INFINITY),
                    std::nextafter(middle, -INFINITY)}) {
      REQUIRE(EncodeFloat<S>(v) == S::FromFloat(v).bits);
    }
    const double exact = (x.ToDouble() + next.ToDouble()) / 2;
    for (double v : {exact, std::nextafter(exact, INFINITY), std::nextafter(exact, -INFINITY)}) {
      const S expected = S::kBits == 16 ? S::FromFloat(static_cast<float>(v)) : S::FromDouble(v);
      REQUIRE(DoubleToSmallFloat<S>(v) == expected.bits);
    }
  }
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    const float v = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (EncodeFloat<S>(v) != S::FromFloat(v).bits) FAIL("EncodeFloat at " << v);
    const double d =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 60) - 94);
    const S expected = S::kBits == 16 ? S::FromFloat(static_cast<float>(d)) : S::FromDouble(d);
    if (DoubleToSmallFloat<S>(d) != expected.bits) FAIL("DoubleToSmallFloat at " << d);
  }
  for (double d : {kInf, -kInf, kNan, 1e300, -1e300, 1e-300, 0.0, -0.0}) {
    const S expected = S::kBits == 16 ? S::FromFloat(static_cast<float>(d)) : S::FromDouble(d);
    CHECK(DoubleToSmallFloat<S>(d) == expected.bits);
  }
}

TEST_CASE("f64 to f16 rounds twice, through f32", "[math][convert]") {
  CHECK(DecodeFloat<BF16>(DoubleToSmallFloat<BF16>(1 + 0x1p-8 + 0x1p-45)) == 1.0f);
  CHECK(DecodeFloat<F8E5M2>(DoubleToSmallFloat<F8E5M2>(1 + 0x1p-3 + 0x1p-45)) ==
        1.25f);  // f8 do not
}

TEMPLATE_TEST_CASE("integers round once to narrow floats", "[math][convert]", BF16, F16, F8E5M2,
                   F8E4M3FN, F4E2M1FN) {
  using S = TestType;
  const auto check = [](int64_t value) {
    // A double plus a sign of what it lost decides every tie.
    const long double exact = static_cast<long double>(value);
    const double near = static_cast<double>(value);
    const double odd =
        static_cast<long double>(near) == exact || (std::bit_cast<uint64_t>(near) & 1) != 0
            ? near
            : std::nextafter(near, static_cast<long double>(near) < exact ? kInf : -kInf);
    if (IntToSmallFloat<S>(value) != S::FromDouble(odd).bits) FAIL("at " << value);
  };
  for (int64_t base : {0, 1, 255, 257, 2049, 4095, 65519, 65520, 70000}) {
    check(base);
    check(-base);
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    check(static_cast<int64_t>(random()) >> (random() % 64));
    const int shift = static_cast<int>(random() % 50);
    for (int64_t d : {-1, 0, 1}) check((static_cast<int64_t>(random() % 1024) << shift) + d);
  }
  CHECK(IntToSmallFloat<S>(~uint64_t{0}) == S::FromDouble(0x1p64).bits);
  CHECK(IntToSmallFloat<S>(uint8_t{255}) == S::FromDouble(255).bits);
  CHECK(IntToSmallFloat<S>(std::numeric_limits<int64_t>::min()) == S::FromDouble(-0x1p63).bits);
}

template <class To>
void CheckSaturation(int bits) {
  constexpr bool kSigned = std::is_signed_v<To>;
  const long double top = std::ldexp(1.0L, kSigned ? bits - 1 : bits) - 1,
                    bottom = kSigned ? -top - 1 : 0;
  const auto expected = [&](double x) {
    if (std::isnan(x)) return 0.0L;
    return std::min(std::max(static_cast<long double>(std::trunc(x)), bottom), top);
  };
  std::vector<double> samples = {0.0,  -0.0, 0.5,   -0.5, -0.999, -1.0,
                                 -3.9, 1e30, -1e30, kInf, -kInf,  kNan};
  for (int e = 0; e < 66; ++e) {
    for (double sign : {1.0, -1.0}) {
      const double p = sign * std::ldexp(1.0, e);
      for (double x :
           {p, std::nextafter(p, 0.0), std::nextafter(p, kInf), p - 1, p + 1, p - 0.5, p + 0.5})
        samples.push_back(x);
    }
  }
  for (double x : samples) {
    CAPTURE(bits, kSigned, x);
    const float f = static_cast<float>(x);
    REQUIRE(static_cast<long double>(FloatToInt<To>(x, bits)) == expected(x));
    REQUIRE(static_cast<long double>(FloatToInt<To>(f, bits)) == expected(double{f}));
  }
}

TEST_CASE("float to integer truncates and saturates", "[math][convert]") {
  for (int bits : {1, 2, 4, 8}) {
    CheckSaturation<int8_t>(bits);
    CheckSaturation<uint8_t>(bits);
  }
  CheckSaturation<int16_t>(16);
  CheckSaturation<uint16_t>(16);
  CheckSaturation<int32_t>(32);
  CheckSaturation<uint32_t>(32);
  CheckSaturation<int64_t>(64);
  CheckSaturation<uint64_t>(64);
}

TEST_CASE("integer to integer wraps", "[math][convert]") {
  CHECK(IntToInt<uint32_t>(int8_t{-1}) == 0xffffffffu);
  CHECK(IntToInt<int8_t>(uint8_t{255}) == -1);
  CHECK(IntToInt<int64_t>(uint32_t{0xffffffff}) == 0xffffffff);
  CHECK(IntToInt<int8_t>(int32_t{9}, 4) == -7);
  CHECK(IntToInt<uint8_t>(int32_t{-1}, 4) == 15);
}

TEST_CASE("number to pred is a test against zero", "[math][convert]") {
  CHECK(FloatToPred(std::numeric_limits<float>::quiet_NaN()));
  CHECK_FALSE(FloatToPred(-0.0f));
  CHECK(FloatToPred(1e-45f));
  CHECK(IntToPred(int8_t{-1}));
  CHECK_FALSE(IntToPred(uint64_t{0}));
}

TEST_CASE("stochastic rounding moves away from zero as often as the fraction says",
          "[math][convert]") {
  const auto convert = [](float x, uint32_t random) {
    return StochasticConvert<int32_t>(x, random);
  };
  CHECK(convert(2.25f, 0x3fffffff) == 3);
  CHECK(convert(2.25f, 0x40000000) == 2);
  CHECK(convert(-2.25f, 0x3fffffff) == -3);
  CHECK(convert(-2.25f, 0x40000000) == -2);
  CHECK(convert(7.0f, 0) == 7);
  CHECK(convert(-7.0f, 0) == -7);
  CHECK(convert(0.5f, 0) == 1);
  CHECK(convert(NAN, 0) == 0);
  CHECK(convert(INFINITY, 0) == std::numeric_limits<int32_t>::max());
  CHECK(convert(-INFINITY, 0) == std::numeric_limits<int32_t>::min());
  CHECK(convert(3e9f, 0) == std::numeric_limits<int32_t>::max());
  CHECK(StochasticConvert<int8_t>(127.5f, uint32_t{0}) == 127);
  CHECK(StochasticConvert<int8_t>(-128.5f, uint32_t{0}) == -128);
  CHECK(StochasticConvert<int8_t>(-127.5f, uint32_t{0}) == -128);
  CHECK(StochasticConvert<int64_t>(0.75, uint64_t{0xbfffffffffffffff}) == 1);
  CHECK(StochasticConvert<int64_t>(0.75, uint64_t{0xc000000000000000}) == 0);
}

}  // namespace
}  // namespace hlo::math
