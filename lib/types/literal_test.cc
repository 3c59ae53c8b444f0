#include "lib/types/literal.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "lib/types/literal_test_util.h"

namespace hlo {
namespace {

constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("new literals are zero and copies are made on write", "[types][literal]") {
  Literal a(F32Shape({2, 2}));
  CHECK(a.ToString() == "{ { 0, 0 }, { 0, 0 } }");
  Literal b = a;
  CHECK(a.data() == b.data());
  b.SetDouble(3, 1.5);
  CHECK(a.data() != b.data());
  CHECK(a.GetDouble(3) == 0);
  CHECK(b.GetDouble(3) == 1.5);
  const Literal tuple(Shape::Tuple({F32Shape({1}), Shape::Token(), Shape::Tuple({F32Shape({})})}));
  CHECK(tuple.Sub({2, 0}).GetDouble() == 0);
  CHECK(Literal::Tuple({a, Literal::Token()}).shape() == Shape::Tuple({a.shape(), Shape::Token()}));
  CHECK(Literal().shape() == Shape());
}

TEST_CASE("every type stores what it can", "[types][literal]") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (!IsArrayType(type)) continue;
    CAPTURE(std::string(Text(type)));
    Literal literal(Shape::Array(type, {3}));
    literal.SetDouble(1, 1);
    literal.SetInt(2, 1);
    const double one = type == ElementType::kS1 ? 0 : 1;  // s1 holds -1 and 0: 1 saturates to 0
    CHECK(literal.GetDouble(1) == one);
    CHECK(literal.GetInt(1) == static_cast<int64_t>(one));
    CHECK(literal.GetComplex(1) == std::complex<double>(one, 0));
    CHECK(literal.GetDouble(2) == (type == ElementType::kS1 ? -1 : 1));
    CHECK(literal.IsZeroBits(0));
    CHECK_FALSE(literal.IsZeroBits(2));
    CHECK(literal.byte_size() == 3 * ByteSize(type));
  }
}

TEST_CASE("doubles are truncated and saturated into integers, integers wrap", "[types][literal]") {
  struct Row {
    ElementType type;
    double value;
    int64_t expected;
  };
  const Row rows[] = {
      {ElementType::kS32, 2.9, 2},
      {ElementType::kS32, -2.9, -2},
      {ElementType::kS32, 1e10, INT32_MAX},
      {ElementType::kS32, -kDoubleInfinity, INT32_MIN},
      {ElementType::kS32, std::nan(""), 0},
      {ElementType::kU8, -5, 0},
      {ElementType::kU8, 300, 255},
      {ElementType::kS4, 9, 7},
      {ElementType::kS4, -9, -8},
      {ElementType::kU2, 9, 3},
      {ElementType::kS64, 9.3e18, INT64_MAX},
      {ElementType::kS64, -9.3e18, INT64_MIN},
      {ElementType::kU64, 1.9e19, -1},
      {ElementType::kU64, 9223372036854775808.0, INT64_MIN},
      {ElementType::kPred, 0.25, 1},
      {ElementType::kPred, -0.0, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(Text(row.type)), row.value);
    Literal literal(Shape::Scalar(row.type));
    literal.SetDouble(0, row.value);
    CHECK(literal.GetInt() == row.expected);
  }
  CHECK(Literal::Scalar(ElementType::kS8, 200).GetInt() == -56);
  CHECK(Literal::Scalar(ElementType::kU4, -1).GetInt() == 15);
  CHECK(Literal::Scalar(ElementType::kPred, 7).GetInt() == 1);
}

TEST_CASE("64-bit integers are rounded once", "[types][literal]") {
  // Just above the tie between two bf16 values; by way of a rounded f64 it would become the tie.
  const int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  CHECK(Literal::Scalar(ElementType::kBF16, above_tie).GetDouble() == 0x1.02p62);
  CHECK(Literal::Scalar(ElementType::kBF16, above_tie - 1).GetDouble() == 0x1p62);
  CHECK(
      Literal::Scalar(ElementType::kF32, (int64_t{1} << 62) + (int64_t{1} << 38) + 1).GetDouble() ==
      0x1.000002p62);
  const Literal big = Literal::Scalar(ElementType::kU64, -1);
  CHECK(big.Converted(ElementType::kF32)->GetDouble() == 0x1p64);
  CHECK(big.Converted(ElementType::kBF16)->GetDouble() == 0x1p64);
  CHECK(big.Converted(ElementType::kS64)->GetInt() == -1);
  CHECK(big.Converted(ElementType::kC128)->GetComplex() == std::complex<double>(0x1p64, 0));
  CHECK(Literal::Scalar(ElementType::kS64, -1).Converted(ElementType::kF32)->GetDouble() == -1);
}

TEST_CASE("convert follows the rules of the operation", "[types][literal]") {
  struct Row {
    Literal from;
    ElementType to;
    const char* expected;
  };
  const Row rows[] = {
      {S32({70000, -1, 0}), ElementType::kF16, "{inf, -1, 0}"},
      {S32({70000, -1, 0}), ElementType::kPred, "{1, 1, 0}"},
      {S32({70000, -1, 255}), ElementType::kS8, "{112, -1, -1}"},
      {S32({70000, -1, 255}), ElementType::kU4, "{0, 15, 15}"},
      {S32({18433, 100000, 464}), ElementType::kF8E5M2, "{2e+04, inf, 4.5e+02}"},
      {F32({2.5, -2.5, 3e9}), ElementType::kS32, "{2, -2, 2147483647}"},
      {F32({-1, 0.5, 7}), ElementType::kU32, "{0, 0, 7}"},
      {F32({464, 465, -465}), ElementType::kF8E4M3FN, "{448, nan, -nan}"},
      {F32({1, 2, 3}), ElementType::kC64, "{(1, 0), (2, 0), (3, 0)}"},
      {F32({0x1p-149, -0.0, 1}), ElementType::kPred, "{1, 0, 1}"},
      {F32({std::nan(""), 0, 1}), ElementType::kPred, "{1, 0, 1}"},
      {F32({7, -100, 0.25}), ElementType::kF4E2M1FN, "{6, -6, 0}"},
      {F64({1 + 0x1p-8 + 0x1p-45}), ElementType::kBF16, "{1}"},  // by way of f32
      {F64({1e300, 1.0000001}), ElementType::kF32, "{inf, 1.00000012}"},
      {C64({{1.5, 2}, {0, 1}}), ElementType::kF32, "{1.5, 0}"},
      {C64({{1.5, 2}, {0, 1}}), ElementType::kPred, "{1, 1}"},
      {C64({{1.5, 2}, {0, 1}}), ElementType::kC128, "{(1.5, 2), (0, 1)}"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.from.ToString(), std::string(Text(row.to)));
    const Literal converted = *row.from.Converted(row.to);
    CHECK(converted.ToString() == row.expected);
    CHECK(converted.shape() == row.from.shape().WithElementType(row.to));
  }
  CHECK_FALSE(Literal::Token().Converted(ElementType::kF32).ok());
  CHECK(Literal::Elided(F32Shape({2})).Converted(ElementType::kS32)->is_elided());
}

TEST_CASE("long arrays convert like short ones", "[types][literal]") {
  Literal from(Shape::Array(ElementType::kS32, {1500}));
  for (int i = 0; i < 1500; ++i) from.SetInt(i, i * 7 - 3000);
  const Literal to = *from.Converted(ElementType::kF32)->Converted(ElementType::kF64);
  for (int i = 0; i < 1500; ++i) REQUIRE(to.GetDouble(i) == i * 7 - 3000);
}

TEST_CASE("extreme values", "[types][literal]") {
  CHECK(Literal::MinValue(ElementType::kF32).GetDouble() == -kDoubleInfinity);
  CHECK(Literal::MaxValue(ElementType::kBF16).GetDouble() == kDoubleInfinity);
  CHECK(Literal::MinValue(ElementType::kF8E5M2).GetDouble() == -kDoubleInfinity);
  CHECK(Literal::MinValue(ElementType::kF8E4M3FN).GetDouble() == -448);
  CHECK(Literal::MaxValue(ElementType::kF4E2M1FN).GetDouble() == 6);
  CHECK(Literal::MinValue(ElementType::kF8E8M0FNU).GetDouble() == 0x1p-127);
  CHECK(Literal::MinValue(ElementType::kS4).GetInt() == -8);
  CHECK(Literal::MaxValue(ElementType::kU64).GetInt() == -1);
  CHECK(Literal::MaxValue(ElementType::kPred).GetInt() == 1);
  CHECK(Literal::MinValue(ElementType::kU2).GetInt() == 0);
  CHECK(Literal::One(ElementType::kS1).GetInt(0) == -1);
  CHECK(Literal::One(ElementType::kU1).GetInt(0) == 1);
  CHECK(Literal::One(ElementType::kS64).GetInt(0) == 1);
  CHECK(Literal::One(ElementType::kC64).GetComplex() == std::complex<double>(1, 0));
}

TEST_CASE("questions about all elements", "[types][literal]") {
  CHECK(Literal::Filled(F32Shape({3, 3}), 0.5).IsAll(0.5));
  CHECK(Literal::Filled(F32Shape({3, 3}), 1).IsAllOnes());
  CHECK_FALSE(F32({1, 1, 2}).IsAllOnes());
  CHECK(F32({2, 2, 2}).IsUniform());
  CHECK_FALSE(F32({0, -0.0}).IsUniform());
  CHECK_FALSE(Literal::Filled(F32Shape({2}), -0.0).IsAll(0));
  CHECK(Literal::Filled(F32Shape({2}), -0.0).IsAll(-0.0));
  CHECK_FALSE(Literal(F32Shape({0})).IsAll(0));
  CHECK_FALSE(Literal::Elided(F32Shape({2})).IsAll(0));
  CHECK_FALSE(S32({0, 0}).IsAll(0.5));
  CHECK_FALSE(Literal::Filled(Shape::Scalar(ElementType::kPred), 1).IsAll(2));
  CHECK(C64({{1, 0}, {1, 0}}).IsAll(1));
  CHECK_FALSE(C64({{1, 1}, {1, 1}}).IsAll(1));
  CHECK_FALSE(F32({std::nan("")}).IsAll(std::nan("")));
}

TEST_CASE("movements of data", "[types][literal]") {
  Literal a(Shape::Array(ElementType::kS32, {2, 3, 4}));
  for (int i = 0; i < 24; ++i) a.SetInt(i, i);
  const Literal t = a.Transposed({2, 0, 1});
  CHECK(t.shape().ToString() == "s32[4,2,3]{2,1,0}");
  DimVec index(3, 0);
  do {
    CHECK(t.Get<int32_t>(index) == a.Get<int32_t>({index[1], index[2], index[0]}));
  } while (NextIndex(absl::MakeSpan(index), t.shape().dims()));
  CHECK(a.Slice({0, 1, 0}, {2, 3, 4}, {1, 1, 3}).ToString() ==
        "{ { { 4, 7 }, { 8, 11 } }, { { 16, 19 }, { 20, 23 } } }");
  CHECK(a.Slice({1, 3, 0}, {2, 3, 4}, {1, 1, 1}).element_count() == 0);
  CHECK(S32({1, 2}).Broadcast(Shape::Array(ElementType::kS32, {2, 3}), {0}).ToString() ==
        "{ { 1, 1, 1 }, { 2, 2, 2 } }");
  CHECK(S32({1, 2}).Broadcast(Shape::Array(ElementType::kS32, {3, 2}), {1}).ToString() ==
        "{ { 1, 2 }, { 1, 2 }, { 1, 2 } }");
  CHECK(C64({{1, 2}, {3, 4}}).ElementAt(1).ToString() == "(3, 4)");
  CHECK(Literal::Scalar(ElementType::kC128, std::complex<double>(1, 2))
            .Broadcast(Shape::Array(ElementType::kC128, {2}), {})
            .ToString() == "{(1, 2), (1, 2)}");
  CHECK(a.Reshaped(Shape::Array(ElementType::kS32, {24})).data() == a.data());
}

TEST_CASE("equality is of bits and shapes without layouts", "[types][literal]") {
  const Literal a = F32({1, 2});
  CHECK(a == F32({1, 2}));
  CHECK_FALSE(a == F32({1, 3}));
  CHECK_FALSE(F32({0.0}) == F32({-0.0}));
  CHECK(F32({std::nan("")}) == F32({std::nan("")}));
  CHECK_FALSE(a == S32({1, 2}));
  CHECK_FALSE(a == a.Reshaped(F32Shape({2, 1})));
  CHECK(Literal::Tuple({a, S32({1})}) == Literal::Tuple({F32({1, 2}), S32({1})}));
  CHECK_FALSE(Literal::Tuple({a}) == Literal::Tuple({F32({1, 3})}));
  const Literal elided = Literal::Elided(F32Shape({2})), other = Literal::Elided(F32Shape({2}));
  CHECK(elided == elided);
  CHECK_FALSE(elided == other);
  const Literal column =
      Literal(F32Shape({2, 2}))
          .Reshaped(F32Shape({2, 2}).WithLayout(Layout::FromMinorToMajor({0, 1})));
  CHECK(column == Literal(F32Shape({2, 2})));
  CHECK(column.Hash() == Literal(F32Shape({2, 2})).Hash());
  CHECK(a.Hash() != F32({1, 3}).Hash());
}

}  // namespace
}  // namespace hlo
