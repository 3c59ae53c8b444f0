#include "lib/eval/scalar_ops.h"

#include <catch2/catch.hpp>

namespace hlo::scalar {
namespace {

TEST_CASE("integer division never traps", "[eval][scalar]") {
  CHECK(IntBinaryOp<Opcode::kDivide>(int32_t{7}, int32_t{0}) == -1);
  CHECK(IntBinaryOp<Opcode::kDivide>(INT32_MIN, int32_t{-1}) == INT32_MIN);
  CHECK(IntBinaryOp<Opcode::kRemainder>(int64_t{-7}, int64_t{2}) == -1);
  CHECK(IntBinaryOp<Opcode::kRemainder>(INT64_MIN, int64_t{-1}) == 0);
  CHECK(IntBinaryOp<Opcode::kDivide>(uint8_t{7}, uint8_t{0}) == 255);
  CHECK(IntBinaryOp<Opcode::kDivide>(int8_t{-8}, int8_t{-1}, 4) == -8);
}

TEST_CASE("shift counts are unsigned", "[eval][scalar]") {
  CHECK(IntBinaryOp<Opcode::kShiftLeft>(int32_t{1}, int32_t{31}) == INT32_MIN);
  CHECK(IntBinaryOp<Opcode::kShiftLeft>(int32_t{1}, int32_t{-1}) == 0);
  CHECK(IntBinaryOp<Opcode::kShiftRightArithmetic>(int32_t{-8}, int32_t{100}) == -1);
  CHECK(IntBinaryOp<Opcode::kShiftRightArithmetic>(uint32_t{0x80000000}, uint32_t{4}) ==
        0xf8000000);
  CHECK(IntBinaryOp<Opcode::kShiftRightLogical>(int8_t{-1}, int8_t{2}, 4) == 3);
}

TEST_CASE("the opcode at run time gives the opcode at compile time", "[eval][scalar]") {
  CHECK(FloatUnary(Opcode::kTanh, 0.5f) == Float<Opcode::kTanh>(0.5f));
  CHECK(FloatBinary(Opcode::kAtan2, 1.0, -1.0) == Float<Opcode::kAtan2>(1.0, -1.0));
  CHECK(IntUnary(Opcode::kPopcnt, int8_t{-1}, 4) == 4);
  CHECK(PredBinary(Opcode::kMaximum, false, true));
  CHECK(IsFloatUnary(Opcode::kErf));
  CHECK_FALSE(IsIntUnary(Opcode::kErf));
}

TEST_CASE("total order tells zeros and NaNs apart", "[eval][scalar]") {
  CHECK(CompareFloat(ComparisonDirection::kLt, ComparisonType::kTotalOrder, -0.0f, 0.0f));
  CHECK_FALSE(CompareFloat(ComparisonDirection::kLt, ComparisonType::kFloat, -0.0f, 0.0f));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(CompareFloat(ComparisonDirection::kEq, ComparisonType::kTotalOrder, nan, nan));
  CHECK(CompareFloat(ComparisonDirection::kGt, ComparisonType::kTotalOrder, nan,
                     std::numeric_limits<float>::infinity()));
  CHECK(CompareFloat(ComparisonDirection::kNe, ComparisonType::kFloat, nan, nan));
}

TEST_CASE("pred orders false below true", "[eval][scalar]") {
  CHECK(ComparePred(ComparisonDirection::kLt, false, true));
  CHECK(ComparePred(ComparisonDirection::kGe, true, true));
  CHECK_FALSE(ComparePred(ComparisonDirection::kGt, false, false));
}

}  // namespace
}  // namespace hlo::scalar
