#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

AttrsPtr Direction(ComparisonDirection direction,
                   std::optional<ComparisonType> type = std::nullopt) {
  return AttrsPtr::Make(CompareAttrs{direction, type});
}

AttrsPtr Bits(int64_t exponent, int64_t mantissa) {
  return AttrsPtr::Make(ReducePrecisionAttrs{exponent, mantissa});
}

TEST_CASE("unary opcodes keep the operand's shape and layout", "[ops][shape]") {
  CheckAll({
      {"negate", {"f32[2,3]{0,1}"}, "f32[2,3]{0,1}"},
      {"negate", {"u8[<=2]"}, "u8[<=2]{0}"},
      {"abs", {"c64[2,3]{0,1}"}, "f32[2,3]{0,1}"},
      {"abs", {"s8[2]"}, "s8[2]{0}"},
      {"real", {"c128[2]"}, "f64[2]{0}"},
      {"imag", {"f32[2]"}, "f32[2]{0}"},
      {"is-finite", {"f32[2,3]{0,1}"}, "pred[2,3]{0,1}"},
      {"sinh", {"c64[2]"}, "c64[2]{0}"},
      {"not", {"pred[2]"}, "pred[2]{0}"},
      {"copy", {"(f32[2], token[])"}, "(f32[2]{0}, token[])"},
  });
}

TEST_CASE("unary opcodes name the element types they take", "[ops][shape]") {
  CheckAll({
      {"abs",
       {"u32[2]"},
       "`operand` has element type `u32`, expected signed integer, float or complex"},
      {"negate",
       {"pred[2]"},
       "`operand` has element type `pred`, expected integer, float or complex"},
      {"sign",
       {"u8[2]"},
       "`operand` has element type `u8`, expected signed integer, float or complex"},
      {"not", {"f32[2]"}, "`operand` has element type `f32`, expected pred or integer"},
      {"popcnt", {"pred[2]"}, "`operand` has element type `pred`, expected integer"},
      {"is-finite", {"c64[2]"}, "`operand` has element type `c64`, expected float"},
      {"cbrt", {"c64[2]"}, "`operand` has element type `c64`, expected float"},
      {"exponential", {"s32[2]"}, "`operand` has element type `s32`, expected float or complex"},
      {"real", {"s32[2]"}, "`operand` has element type `s32`, expected float or complex"},
      {"tanh", {"(f32[2])"}, "`operand` has shape `(f32[2])`, expected an array"},
  });
}

TEST_CASE("binary opcodes take the wider float and the left layout", "[ops][shape]") {
  CheckAll({
      {"add", {"f32[2,3]{0,1}", "f32[2,3]"}, "f32[2,3]{0,1}"},
      {"add", {"f32[2,3]{0,1}", "f16[2,3]"}, "f32[2,3]{0,1}"},
      {"add", {"bf16[2]", "f16[2]"}, "bf16[2]{0}"},
      {"add", {"f16[2]", "bf16[2]"}, "bf16[2]{0}"},
      {"add", {"f8e4m3fn[2]", "f8e5m2[2]"}, "f8e5m2[2]{0}"},
      {"add", {"f32[<=2]", "f32[2]"}, "f32[<=2]{0}"},
      {"add", {"f32[2]", "f32[<=2]"}, "f32[<=2]{0}"},
      {"add", {"f32[?]", "f32[2]"}, "f32[2]{0}"},
      {"mulhi", {"pred[2]", "pred[2]"}, "pred[2]{0}"},
      {"maximum", {"c64[2]", "c64[2]"}, "c64[2]{0}"},
      {"complex", {"f64[2]", "f64[2]"}, "c128[2]{0}"},
      {"compare",
       {"f32[2,3]{0,1}", "bf16[2,3]"},
       "pred[2,3]{0,1}",
       Direction(ComparisonDirection::kLt)},
      {"compare",
       {"f32[2]", "f32[2]"},
       "pred[2]{0}",
       Direction(ComparisonDirection::kLt, ComparisonType::kTotalOrder),
       {},
       "pred[2]"},
  });
}

TEST_CASE("only a text without a shape broadcasts implicitly", "[ops][shape]") {
  CheckAll({
      {"add", {"f32[2]", "f32[]"}, "f32[2]{0}"},
      {"add", {"f32[2,1]", "f32[1,3]"}, "f32[2,3]{1,0}"},
      {"add",
       {"f32[2]", "f32[]"},
       "`rhs` has shape `f32[]`, but `lhs` has `f32[2]`",
       {},
       {},
       "f32[2]"},
  });
}

TEST_CASE("binary opcodes compare their operands", "[ops][shape]") {
  CheckAll({
      {"add", {"f32[2]", "f32[3]"}, "`rhs` has shape `f32[3]`, but `lhs` has `f32[2]`"},
      {"add", {"f32[<=3]", "f32[2]"}, "`rhs` has shape `f32[2]`, but `lhs` has `f32[<=3]`"},
      {"add", {"f32[2]", "s32[2]"}, "`rhs` has element type `s32`, but `lhs` has `f32`"},
      {"subtract",
       {"pred[2]", "pred[2]"},
       "`lhs` has element type `pred`, expected integer, float or complex"},
      {"and", {"f32[2]", "f32[2]"}, "`lhs` has element type `f32`, expected pred or integer"},
      {"atan2", {"s32[2]", "s32[2]"}, "`y` has element type `s32`, expected float or complex"},
      {"complex", {"f16[2]", "f16[2]"}, "`real` has element type `f16`, expected `f32` or `f64`"},
      {"compare",
       {"c64[2]", "c64[2]"},
       "pred[2]{0}",
       Direction(ComparisonDirection::kLt),
       {},
       "pred[2]"},
      {"compare",
       {"s32[2]", "s32[2]"},
       "`type` is `TOTALORDER`, but operands of type `s32` are compared as `SIGNED`",
       Direction(ComparisonDirection::kEq, ComparisonType::kTotalOrder),
       {},
       "pred[2]"},
      {"add", {"f32[2]"}, "`add` expects 2 operands (lhs, rhs), found 1"},
  });
}

TEST_CASE("the type of a comparison matters to the verifier only", "[ops][shape]") {
  CheckAll({
      {"compare", {"c64[2]", "c64[2]"}, "pred[2]{0}", Direction(ComparisonDirection::kLt)},
      {"compare",
       {"s32[2]", "s32[2]"},
       "pred[2]{0}",
       Direction(ComparisonDirection::kLt, ComparisonType::kTotalOrder)},
  });
}

TEST_CASE("clamp and select take scalars beside arrays", "[ops][shape]") {
  CheckAll({
      {"clamp", {"f32[]", "f32[4,2]{0,1}", "f32[]"}, "f32[4,2]{0,1}"},
      {"clamp", {"bf16[]", "f32[4]", "f32[4]"}, "f32[4]{0}"},
      {"clamp",
       {"f32[1]", "f32[4]", "f32[]"},
       "`min` has shape `f32[1]`, but `operand` has `f32[4]`"},
      {"clamp",
       {"f32[4]", "f32[]", "f32[4]"},
       "`min` has shape `f32[4]`, but `operand` has `f32[]`"},
      {"clamp",
       {"s32[]", "f32[4]", "f32[]"},
       "`min` has element type `s32`, but `operand` has `f32`"},
      {"select", {"pred[]", "f32[4,2]{0,1}", "f32[4,2]"}, "f32[4,2]{0,1}"},
      {"select", {"pred[4,2]{0,1}", "f32[4,2]", "f32[4,2]"}, "f32[4,2]{0,1}"},
      {"select", {"pred[4]", "bf16[4]", "f32[4]"}, "f32[4]{0}"},
      {"select",
       {"pred[3]", "f32[4]", "f32[4]"},
       "`pred` has shape `pred[3]`, but `on_true` has `f32[4]`; expected equal dimensions or a "
       "scalar"},
      {"select",
       {"s32[4]", "f32[4]", "f32[4]"},
       "`pred` has shape `s32[4]`, expected element type `pred`"},
      {"select",
       {"pred[4]", "f32[4]", "f32[]"},
       "`on_false` has shape `f32[]`, but `on_true` has `f32[4]`"},
      {"select",
       {"pred[]", "(f32[4])", "(f32[4])"},
       "`on_true` has shape `(f32[4])`, expected an array"},
  });
}

TEST_CASE("conversions take the element type from the text", "[ops][shape]") {
  CheckAll({
      {"convert", {"f32[4,2]"}, "s8[4,2]{0,1}", {}, {}, "s8[4,2]{0,1}"},
      {"convert",
       {"f32[4]"},
       "the result is declared as `s8[3]`, expected `s8[4]`",
       {},
       {},
       "s8[3]"},
      {"convert", {"f32[4]"}, "the result shape cannot be inferred and must be written"},
      {"reduce-precision", {"f32[4]"}, "f32[4]{0}", Bits(5, 10), {}, "f32[4]"},
      {"reduce-precision",
       {"f32[4]"},
       "`exponent_bits` is 0, expected at least 1",
       Bits(0, 10),
       {},
       "f32[4]"},
      {"reduce-precision",
       {"f32[4]"},
       "`mantissa_bits` is -1, expected at least 0",
       Bits(5, -1),
       {},
       "f32[4]"},
      {"reduce-precision",
       {"s32[4]"},
       "`operand` has element type `s32`, expected float",
       Bits(5, 2),
       {},
       "s32[4]"},
      {"stochastic-convert", {"f32[4]", "u32[4]"}, "s8[4]{0}", {}, {}, "s8[4]"},
      {"stochastic-convert",
       {"f32[4]", "u16[4]"},
       "`random` has element type `u16`, expected an unsigned integer of 32 bits, as wide as "
       "`operand`",
       {},
       {},
       "s8[4]"},
  });
}

}  // namespace
}  // namespace hlo
