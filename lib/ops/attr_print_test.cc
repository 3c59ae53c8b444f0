#include "lib/ops/attr_print.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

template <class T>
std::string Text(const T& value) {
  std::string out;
  AppendValue(out, value);
  return out;
}

TEST_CASE("floats of attributes print six digits", "[ops][attr-print]") {
  CHECK(Text(0.001f) == "0.001");
  CHECK(Text(1e-5f) == "1e-05");
  CHECK(Text(0.0) == "0");
  CHECK(Text(123456789.0) == "1.23457e+08");
}

TEST_CASE("strings are quoted and escaped", "[ops][attr-print]") {
  CHECK(Text(std::string("a\n\"\\\x01")) == R"("a\n\"\\\001")");
}

TEST_CASE("windows keep their braces when empty", "[ops][attr-print]") {
  CHECK(Text(Window()) == "{}");
  Window window;
  window.dims = {{3, 1, 0, 0, 1, 2, true}};
  CHECK(Text(window) == "{size=3 rhs_dilate=2 rhs_reversal=1}");
}

TEST_CASE("aliases of array results have an empty index", "[ops][attr-print]") {
  CHECK(Text(OutputOperandAliases{{{}, 0, {}}}) == "{{}: (0, {})}");
}

TEST_CASE("both sides of a sparsity configuration are parted by a blank", "[ops][attr-print]") {
  SparsityConfig config;
  config.lhs = TensorSparsity{2, 4, 1, 1, 2};
  config.rhs = TensorSparsity{1, 4, 0, 8, 3};
  CHECK(Text(config) ==
        "{lhs={sparsity=2x4 dimension=1 stride=1 idx=2} rhs={sparsity=1x4 dimension=0 stride=8 "
        "idx=3}}");
}

TEST_CASE("accuracy is a mode or three tolerances", "[ops][attr-print]") {
  CHECK(Text(ResultAccuracy{AccuracyMode::kHighest}) == "{mode=highest}");
  ResultAccuracy tolerance;
  tolerance.has_tolerance = true;
  tolerance.atol = 0.5;
  tolerance.ulps = 4;
  CHECK(Text(tolerance) == "{tolerance={atol=0.5,rtol=0,ulps=4}}");
}

TEST_CASE("literals of custom calls carry their shapes", "[ops][attr-print]") {
  Literal vector(Shape::Array(ElementType::kS32, {3}));
  vector.SetInt(1, 5);
  Literal flag(Shape::Scalar(ElementType::kPred));
  flag.SetInt(0, 1);
  CHECK(Text(vector) == "s32[3]{0} {0, 5, 0}");
  CHECK(Text(Literal::Tuple({vector, flag})) == "( s32[3]{0} {0, 5, 0}, pred[] true )");
  CHECK(Text(Literal::Tuple({flag, Literal::Tuple({vector})})) ==
        "( pred[] true, ( s32[3]{0} {0, 5, 0} ) )");
}

}  // namespace
}  // namespace hlo
