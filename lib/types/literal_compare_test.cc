#include "lib/types/literal_compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "lib/types/literal_test_util.h"

namespace hlo {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool Agree(const Literal& actual, const Literal& expected, Tolerance tolerance = {}) {
  return Compare(actual, expected, tolerance).ok();
}

TEST_CASE("without tolerance values must be equal", "[types][literal-compare]") {
  CHECK(Agree(F32({1, 2, kNan, kInf, 0}), F32({1, 2, -kNan, kInf, -0.0})));
  CHECK_FALSE(Agree(F32({1}), F32({1.0000001})));
  CHECK_FALSE(Agree(F32({kInf}), F32({-kInf})));
  CHECK_FALSE(Agree(F32({kNan}), F32({1})));
  CHECK_FALSE(Agree(F32({kInf}), F32({3e38}), {.abs = 1e30, .rel = 1, .ulps = 1000000}));
}

TEST_CASE("tolerances", "[types][literal-compare]") {
  CHECK(Agree(F32({1.5}), F32({1}), {.abs = 0.5}));
  CHECK_FALSE(Agree(F32({1.75}), F32({1}), {.abs = 0.5}));
  CHECK(Agree(F32({110}), F32({100}), {.rel = 0.11}));
  CHECK_FALSE(Agree(F32({112}), F32({100}), {.rel = 0.11}));
  CHECK(Agree(F32({1.0 + 3 * 0x1p-23}), F32({1}), {.ulps = 3}));
  CHECK_FALSE(Agree(F32({1.0 + 4 * 0x1p-23}), F32({1}), {.ulps = 3}));
}

TEST_CASE("ULPs are steps between neighbours of the type", "[types][literal-compare]") {
  const auto ulps = [](ElementType type, double a, double b) {
    return Compare(ArrayOf(type, {}, {a}), ArrayOf(type, {}, {b}), {}).first.ulp_error;
  };
  CHECK(ulps(ElementType::kF32, 1 + 0x1p-23, 1) == 1);
  CHECK(ulps(ElementType::kF32, 1 - 0x1p-24, 1) == 1);
  CHECK(ulps(ElementType::kF32, 1, 2) == 0x1p23);
  CHECK(ulps(ElementType::kF32, 0x1p-149, -0x1p-149) == 2);
  CHECK(ulps(ElementType::kF32, 0x1p-126, 0x1p-126 - 0x1p-149) == 1);
  CHECK(ulps(ElementType::kF32, 0, 0x1p-149) == 1);
  CHECK(ulps(ElementType::kF64, 0x1.0000000000001p1000, 0x1p1000) == 1);
  CHECK(ulps(ElementType::kF64, 0x1.fffffffffffffp999, 0x1.0000000000001p1000) == 2);
  CHECK(ulps(ElementType::kBF16, 1 + 0x1p-7, 1) == 1);
  CHECK(ulps(ElementType::kF16, 65504, 65472) == 1);
  CHECK(ulps(ElementType::kF8E4M3FN, 448, 416) == 1);
  CHECK(ulps(ElementType::kS32, 7, 3) == 4);
}

TEST_CASE("integers are exact unless the absolute tolerance says otherwise",
          "[types][literal-compare]") {
  CHECK(Agree(S32({5}), S32({5})));
  CHECK_FALSE(Agree(S32({5}), S32({6}), {.abs = 0.5, .rel = 1}));
  CHECK(Agree(S32({5}), S32({6}), {.abs = 1}));
  CHECK_FALSE(Agree(S32({5}), S32({7}), {.abs = 1}));
  CHECK_FALSE(Agree(S32({INT32_MIN}), S32({INT32_MAX}), {.abs = 1}));
  const Literal high = Literal::Scalar(ElementType::kU64, -1);
  CHECK_FALSE(Agree(high, Literal::Scalar(ElementType::kU64, 0), {.abs = 1}));
  CHECK_FALSE(Agree(Literal::One(ElementType::kPred), Literal::Zero(ElementType::kPred)));
}

TEST_CASE("complex numbers pass by parts or by distance", "[types][literal-compare]") {
  CHECK(Agree(C64({{1, 2}}), C64({{1, 2}})));
  CHECK_FALSE(Agree(C64({{1, 2}}), C64({{1, 2.5}})));
  CHECK(Agree(C64({{1, 2}}), C64({{1, 2.5}}), {.abs = 0.5}));
  CHECK(Agree(C64({{1e-9f, 1}}), C64({{0, 1}}), {.rel = 1e-6}));
  CHECK_FALSE(
      Agree(C64({{std::numeric_limits<float>::infinity(), 1}}), C64({{0, 1}}), {.rel = 10}));
}

TEST_CASE("the report names the first and the worst places", "[types][literal-compare]") {
  const Literal expected = ArrayOf(ElementType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Literal actual = ArrayOf(ElementType::kF32, {2, 3}, {1, 2.5, 3, 4, 50, 6.5});
  const CompareReport report =
      Compare(Literal::Tuple({S32({1}), actual}), Literal::Tuple({S32({1}), expected}), {}, 2);
  CHECK(report.compared == 7);
  CHECK(report.mismatched == 3);
  CHECK(report.first.leaf == ShapeIndex{1});
  CHECK(report.first.index == DimVec{0, 1});
  CHECK(report.first.actual == "2.5");
  CHECK(report.first.expected == "2");
  REQUIRE(report.worst.size() == 2);
  CHECK(report.worst[0].linear == 4);
  CHECK(report.worst[1].linear == 1);
  CHECK(report.max_abs_error == 45);
  CHECK(report.max_rel_error == 9);
  const std::string text = report.ToString();
  CHECK(text.find("3 of 7 elements differ") == 0);
  CHECK(text.find("first at output {1} index [0,1]: actual 2.5, expected 2") != std::string::npos);
}

TEST_CASE("different shapes and elided values are not compared", "[types][literal-compare]") {
  const CompareReport report = Compare(F32({1}), F32({1, 2}), {});
  CHECK_FALSE(report.ok());
  CHECK(report.shape_error == "actual shape is `f32[1]`, expected `f32[2]`");
  CHECK_FALSE(Compare(Literal::Elided(F32Shape({1})), F32({1}), {}).ok());
}

}  // namespace
}  // namespace hlo
