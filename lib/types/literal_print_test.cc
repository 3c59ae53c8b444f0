// Text of literals. The tables hold what XLA prints for the same values.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "lib/types/literal_test_util.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("the braces of what is empty end somewhere", "[types][literal-print]") {
  CHECK(Literal(Shape::Array(ElementType::kF32, {1000000000000, 0})).ToString() == "{...}");
  CHECK(Literal(Shape::Array(ElementType::kF32, {3, 1000000000, 0, 2})).ToString() == "{...}");
  CHECK(Literal(Shape::Array(ElementType::kF32, {0, 1000000000000})).ToString() == "{  }");
}

TEST_CASE("arrays nest as their dimensions do", "[types][literal-print]") {
  struct Row {
    ElementType type;
    std::vector<int64_t> dims;
    std::vector<double> values;
    const char* expected;
  };
  using enum ElementType;
  const Row rows[] = {
      {kF32, {}, {0.5}, "0.5"},
      {kF32, {2}, {1, 2}, "{1, 2}"},
      {kF32, {0}, {}, "{}"},
      {kF32, {0, 2}, {}, "{  }"},
      {kF32, {2, 0}, {}, "{ {}, {} }"},
      {kF32, {1, 1}, {7}, "{ {7} }"},
      {kS32, {2, 1, 2}, {1, 2, 3, 4}, "{ { { 1, 2 } }, { { 3, 4 } } }"},
      {kBF16,
       {2, 1, 3},
       {1, 2, 3, -1, -2.5, 1e10},
       "{ { { 1, 2, 3 } }, { { -1, -2.5, 9.999e+09 } } }"},
      {kF64, {1, 1, 1, 2}, {3.5, -1e-300}, "{ { /*i0=0*/ { /*i1=0*/ { 3.5, -1e-300 } } } }"},
      {kS32,
       {1, 2, 1, 2},
       {1, 2, 3, 4},
       "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 } }, { /*i1=1*/ { 3, 4 } } } }"},
      {kS32, {1, 0, 2, 2}, {}, "{ { /*i0=0*/ } }"},
      {kS32, {1, 2, 0, 2}, {}, "{ { /*i0=0*/ { /*i1=0*/ }, { /*i1=1*/ } } }"},
      {kS32, {1, 1, 2, 0}, {}, "{ { /*i0=0*/ { /*i1=0*/ {}, {} } } }"},
      {kS32,
       {1, 1, 1, 1, 1, 1},
       {1},
       "{ { /*i0=0*/ { /*i1=0*/ { /*i2=0*/ { /*i3=0*/ {1} } } } } }"},
      {kPred, {}, {1}, "true"},
      {kPred, {}, {0}, "false"},
      {kPred, {3}, {1, 0, 1}, "{1, 0, 1}"},
      {kC64, {1, 1}, {1.5}, "{ {(1.5, 0)} }"},
      {kS4, {2}, {-8, 7}, "{-8, 7}"},
      {kU1, {2}, {0, 1}, "{0, 1}"},
      {kS8, {2}, {-128, 127}, "{-128, 127}"},
  };
  for (const Row& row : rows) {
    CHECK(ArrayOf(row.type, row.dims, row.values).ToString() == row.expected);
  }
}

TEST_CASE("tuples, tokens and elided values", "[types][literal-print]") {
  CHECK(Literal().ToString() == "(  )");
  const Literal tuple = Literal::Tuple({F32({1.5}).ElementAt(0), S32({1, 2})});
  CHECK(tuple.ToString() == "( 1.5, {1, 2} )");
  CHECK(tuple.ToString(10) == "{...}");
  CHECK(Literal::Elided(F32Shape({2})).ToString() == "{...}");
  CHECK(S32({1, 2, 3}).ToString(2) == "{...}");
  CHECK(S32({1, 2, 3}).ToString(3) == "{1, 2, 3}");
  CHECK(Literal(F32Shape({0, 2})).ToString(10) == "{  }");
}

TEST_CASE("numbers have as many digits as their type needs", "[types][literal-print]") {
  struct Row {
    ElementType type;
    double value;
    const char* expected;
  };
  using enum ElementType;
  const Row rows[] = {
      {kF32, 1e10, "1e+10"},
      {kF32, 500000, "500000"},
      {kF32, 999999, "999999"},
      {kF32, 1e6, "1e+06"},
      {kF32, 1234567, "1234567"},
      {kF32, 0.1, "0.1"},
      {kF32, 1.0 / 3, "0.333333343"},
      {kF32, -0.0, "-0"},
      {kF32, 0x1p-149, "1.4013e-45"},
      {kF32, 3.4028234663852886e38, "3.40282347e+38"},
      {kF32, -kInfinity, "-inf"},
      {kF64, 0.1, "0.1"},
      {kF64, 1.0 / 3, "0.33333333333333331"},
      {kF64, 1e15, "1e+15"},
      {kF64, 999999999999999, "999999999999999"},
      {kF64, -123456, "-123456"},
      {kF64, 5e-324, "4.94065645841247e-324"},
      {kF16, 0.1, "0.099976"},
      {kF16, 65504, "65504"},
      {kBF16, 0.1, "0.1001"},
      {kF8E5M2, 1.75, "1.8"},
      {kF8E5M2, 57344, "5.7e+04"},
      {kF8E4M3FN, 448, "448"},
      {kF8E3M4, 15.5, "15.5"},
      {kF8E8M0FNU, 0x1p-127, "5.9e-39"},
      {kF8E4M3FNUZ, kInfinity, "-nan"},
      {kF8E8M0FNU, -1, "nan"},
      {kF6E2M3FN, 7.5, "7.5"},
      {kF6E2M3FN, 0.125, "0.125"},
      {kF6E3M2FN, 28, "28"},
      {kF4E2M1FN, -6, "-6"},
      {kF4E2M1FN, -0.0, "-0"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(Text(row.type)), row.value);
    CHECK(ArrayOf(row.type, {}, {row.value}).ToString() == row.expected);
  }
  CHECK(Literal::Scalar(ElementType::kU64, -1).ToString() == "18446744073709551615");
  CHECK(Literal::Scalar(ElementType::kS64, INT64_MIN).ToString() == "-9223372036854775808");
}

// A scalar with these bits.
template <class T>
std::string BitsText(ElementType type, T bits) {
  Literal literal(Shape::Scalar(type));
  *reinterpret_cast<T*>(literal.mutable_data()) = bits;
  return literal.ToString();
}

TEST_CASE("NaN payloads print unless they are the quiet bit", "[types][literal-print]") {
  using enum ElementType;
  CHECK(BitsText<uint32_t>(kF32, 0x7fc00000) == "nan");
  CHECK(BitsText<uint32_t>(kF32, 0xffc00000) == "-nan");
  CHECK(BitsText<uint32_t>(kF32, 0x7f800001) == "nan(0x1)");
  CHECK(BitsText<uint32_t>(kF32, 0xffffffff) == "-nan(0x7fffff)");
  CHECK(BitsText<uint64_t>(kF64, 0xffffffffffffffff) == "-nan(0xfffffffffffff)");
  CHECK(BitsText<uint16_t>(kF16, 0x7fff) == "nan(0x3ff)");
  CHECK(BitsText<uint16_t>(kBF16, 0xffff) == "-nan(0x7f)");
  CHECK(BitsText<uint16_t>(kBF16, 0xffc0) == "-nan");
  CHECK(BitsText<uint8_t>(kF8E3M4, 0x7f) == "nan(0xf)");
  CHECK(BitsText<uint8_t>(kF8E5M2, 0xff) == "-nan(0x3)");
  CHECK(BitsText<uint8_t>(kF8E4M3, 0xfc) == "-nan");
  CHECK(BitsText<uint8_t>(kF8E4M3FN, 0xff) == "-nan");
  CHECK(BitsText<uint8_t>(kF8E4M3FN, 0x7f) == "nan");
  CHECK(BitsText<uint8_t>(kF8E8M0FNU, 0xff) == "nan");
}

// XLA's rule, spelled with printf.
template <class T>
std::string Reference(T value, int few, int enough) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", few, static_cast<double>(value));
  const T back =
      sizeof(T) == 4 ? std::strtof(text, nullptr) : static_cast<T>(std::strtod(text, nullptr));
  if (back != value) std::snprintf(text, sizeof(text), "%.*g", enough, static_cast<double>(value));
  return text;
}

TEST_CASE("every bf16 and f16 prints as printf would", "[types][literal-print]") {
  for (const ElementType type : {ElementType::kBF16, ElementType::kF16}) {
    Literal literal(Shape::Scalar(type));
    int compared = 0;
    for (int bits = 0; bits < 0x10000; ++bits) {
      *reinterpret_cast<uint16_t*>(literal.mutable_data()) = static_cast<uint16_t>(bits);
      const double value = literal.GetDouble();
      if (!std::isfinite(value)) continue;
      char text[64];
      std::snprintf(text, sizeof(text), "%.*g", type == ElementType::kBF16 ? 4 : 5, value);
      if (literal.ToString() != text) FAIL_CHECK(literal.ToString() << " instead of " << text);
      ++compared;
    }
    CHECK(compared > 60000);
  }
}

TEST_CASE("random floats print as printf would", "[types][literal-print][property]") {
  std::mt19937_64 random(20240501);
  int compared = 0;
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    const double wide = std::bit_cast<double>(bits);
    const float narrow = std::bit_cast<float>(static_cast<uint32_t>(bits));
    // Values people write, too: few digits, all magnitudes, integers.
    const double round = std::ldexp(static_cast<double>(bits % 2000001) - 1000000,
                                    static_cast<int>(bits >> 59) - 24);
    if (!std::isfinite(wide) || !std::isfinite(narrow)) continue;
    ++compared;
    REQUIRE(ArrayOf(ElementType::kF64, {}, {wide}).ToString() == Reference(wide, 15, 17));
    REQUIRE(ArrayOf(ElementType::kF32, {}, {narrow}).ToString() == Reference(narrow, 6, 9));
    REQUIRE(ArrayOf(ElementType::kF64, {}, {round}).ToString() == Reference(round, 15, 17));
    const auto round32 = static_cast<float>(round);
    REQUIRE(ArrayOf(ElementType::kF32, {}, {round}).ToString() == Reference(round32, 6, 9));
  }
  CHECK(compared > 90000);
}

}  // namespace
}  // namespace hlo
