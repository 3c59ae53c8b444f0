#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

AttrsPtr Feature(int64_t index) { return AttrsPtr::Make(BatchNormAttrs{0.001f, index}); }
AttrsPtr Dimension(int64_t d) { return AttrsPtr::Make(DimensionAttrs{{d}}); }
AttrsPtr Distribution(RngDistribution distribution) {
  return AttrsPtr::Make(RngAttrs{distribution});
}

AttrsPtr Constrained(std::vector<Shape> shapes) {
  CustomCallAttrs attrs;
  attrs.custom_call_target = "f";
  attrs.operand_layout_constraints = std::move(shapes);
  return AttrsPtr::Make(attrs);
}

TEST_CASE("parameters, constants and custom calls have written shapes", "[ops][shape]") {
  const AttrsPtr constant =
      AttrsPtr::Make(ConstantAttrs{Literal(Shape::Array(ElementType::kS32, {2, 3}))});
  CheckAll({
      {"parameter", {}, "(f32[2]{0}, token[])", {}, {}, "(f32[2], token[])"},
      {"parameter", {}, "the result shape cannot be inferred and must be written"},
      {"parameter",
       {},
       "the parameter number is -1, expected at least 0",
       AttrsPtr::Make(ParameterAttrs{-1}),
       {},
       "f32[2]"},
      {"parameter",
       {},
       "`parameter_replication` has 1 entries, but `(f32[2], s32[])` has 2 leaves",
       AttrsPtr::Make(ParameterAttrs{0, std::vector<bool>{true}}),
       {},
       "(f32[2], s32[])"},
      {"constant", {}, "s32[2,3]{1,0}", constant},
      {"constant", {}, "s32[2,3]{0,1}", constant, {}, "s32[2,3]{0,1}"},
      {"constant",
       {},
       "the result is declared as `s32[3]`, but the literal has shape `s32[2,3]`",
       constant,
       {},
       "s32[3]"},
      {"custom-call", {"f32[2]"}, "(f32[2]{0}, s8[7]{0})", {}, {}, "(f32[2], s8[7])"},
      {"custom-call", {"f32[2]"}, "f32[2]{0}", Constrained({S("f32[2]")}), {}, "f32[2]"},
      {"custom-call",
       {"f32[2]"},
       "layout constraint 0 is `f32[3]`, but `operands[0]` has shape `f32[2]`",
       Constrained({S("f32[3]")}),
       {},
       "f32[2]"},
      {"custom-call",
       {"f32[2]"},
       "`operand_layout_constraints` has 0 entries, but there are 1 operands",
       Constrained({}),
       {},
       "f32[2]"},
      {"custom-call",
       {"f32[2]"},
       "layout constraint 0 is `f32[2]`, expected a shape with a layout",
       Constrained({S("f32[2]").WithoutLayout()}),
       {},
       "f32[2]"},
  });
}

TEST_CASE("batch normalisation has vectors over the features", "[ops][shape]") {
  CheckAll({
      {"batch-norm-training",
       {"f32[4,8,3]{0,1,2}", "f32[8]", "bf16[8]"},
       "(f32[4,8,3]{0,1,2}, f32[8]{0}, f32[8]{0})",
       Feature(1)},
      {"batch-norm-training",
       {"f32[4,8,3]", "f32[8]", "f32[7]"},
       "`offset` has size 7, but feature dimension 1 of `operand` is 8",
       Feature(1)},
      {"batch-norm-training",
       {"f32[4,8,3]", "f32[8]", "f32[8]"},
       "`feature_index` names dimension 3, expected one in [0, 3)",
       Feature(3)},
      {"batch-norm-training",
       {"s32[4,8,3]", "s32[8]", "s32[8]"},
       "`operand` has element type `s32`, expected float",
       Feature(1)},
      {"batch-norm-inference",
       {"f32[4,8]{0,1}", "f32[8]", "f32[8]", "f32[8]", "f32[8]"},
       "f32[4,8]{0,1}",
       Feature(1)},
      {"batch-norm-grad",
       {"f32[4,8]", "f32[8]", "f32[8]", "f32[8]", "f32[4,8]"},
       "(f32[4,8]{1,0}, f32[8]{0}, f32[8]{0})",
       Feature(1)},
      {"batch-norm-grad",
       {"f32[4,8]", "f32[8]", "f32[8]", "f32[8]", "f32[4,7]"},
       "`grad_output` has shape `f32[4,7]`, but `operand` has `f32[4,8]`",
       Feature(1)},
  });
}

TEST_CASE("random numbers", "[ops][shape]") {
  CheckAll({
      {"rng",
       {"f32[]", "f32[]"},
       "f32[7]{0}",
       Distribution(RngDistribution::kNormal),
       {},
       "f32[7]"},
      {"rng",
       {"s32[]", "s32[]"},
       "a normal distribution has a float type, found `s32`",
       Distribution(RngDistribution::kNormal),
       {},
       "s32[7]"},
      {"rng",
       {"f32[]", "f32[]"},
       "`operands[0]` has element type `f32`, but the result has `s32`",
       Distribution(RngDistribution::kUniform),
       {},
       "s32[7]"},
      {"rng",
       {"f32[]"},
       "found 1 operands, expected 2, the parameters of the distribution",
       Distribution(RngDistribution::kUniform),
       {},
       "f32[7]"},
      {"rng-bit-generator", {"u64[2]"}, "(u64[2]{0}, u32[7]{0})", {}, {}, "(u64[2], u32[7])"},
      {"rng-bit-generator", {"u64[2]"}, "u32[7]{0}", {}, {}, "u32[7]"},
      {"rng-bit-generator",
       {"u64[2]"},
       "the new state has shape `u64[3]`, but `state` has `u64[2]`",
       {},
       {},
       "(u64[3], u32[7])"},
      {"rng-get-and-update-state", {}, "u64[2]{0}"},
      {"rng-get-and-update-state",
       {},
       "the result is declared as `u64[3]`, expected `u64[2]`",
       {},
       {},
       "u64[3]"},
  });
}

TEST_CASE("sizes of dimensions", "[ops][shape]") {
  CheckAll({
      {"get-dimension-size", {"f32[4,<=8]"}, "s32[]", Dimension(1)},
      {"get-dimension-size",
       {"f32[4,8]"},
       "`dimensions` names dimension 2, expected one in [0, 2)",
       Dimension(2)},
      {"set-dimension-size", {"f32[4,8]{0,1}", "s32[]"}, "f32[4,<=8]{0,1}", Dimension(1)},
      {"set-dimension-size",
       {"f32[4,8]", "s64[]"},
       "`size` has shape `s64[]`, expected `s32[]`",
       Dimension(1)},
  });
}

}  // namespace
}  // namespace hlo
