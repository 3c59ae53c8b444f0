#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

constexpr std::string_view kSumFloats = "sum: (f32[], f32[]) -> f32[]";
constexpr std::string_view kAddBf16 = "sum: (bf16[], bf16[]) -> bf16[]";
constexpr std::string_view kMixed = "sum: (f32[], bf16[]) -> f32[]";
constexpr std::string_view kPair = "pair: (f32[], s32[], f32[], s32[]) -> (f32[], s32[])";
constexpr std::string_view kGe = "ge: (f32[], f32[]) -> pred[]";

AttrsPtr Over(DimVec dims) { return AttrsPtr::Make(ReduceAttrs{dims}); }
AttrsPtr Windowed(std::vector<WindowDim> dims) {
  return AttrsPtr::Make(ReduceWindowAttrs{{std::move(dims)}});
}
AttrsPtr Scattered(std::vector<WindowDim> dims) {
  return AttrsPtr::Make(SelectAndScatterAttrs{{std::move(dims)}});
}
AttrsPtr SortedAlong(int64_t d) { return AttrsPtr::Make(SortAttrs{{d}}); }
AttrsPtr Top(int64_t k) { return AttrsPtr::Make(TopKAttrs{k}); }
AttrsPtr MapOver(DimVec dims) { return AttrsPtr::Make(MapAttrs{dims}); }
AttrsPtr ScanOver(int64_t d, int64_t carries) { return AttrsPtr::Make(ScanAttrs{{d}, carries}); }

TEST_CASE("reduce drops dimensions and takes the reducer's types", "[ops][shape]") {
  CheckAll({
      {"reduce", {"f32[2,4]{0,1}", "f32[]"}, "f32[2]{0}", Over({1}), {kSumFloats}},
      {"reduce", {"f32[2,<=4]", "f32[]"}, "f32[<=4]{0}", Over({0}), {kSumFloats}},
      {"reduce", {"f32[2,4]", "f32[]"}, "f32[2,4]{1,0}", Over({}), {kSumFloats}},
      {"reduce", {"bf16[2,4]", "f32[]"}, "f32[2]{0}", Over({1}), {kMixed}},
      {"reduce", {"f32[2,4]", "bf16[]"}, "bf16[2]{0}", Over({1}), {kAddBf16}},
      {"reduce",
       {"f32[2,4]", "s32[2,4]", "f32[]", "s32[]"},
       "(f32[4]{0}, s32[4]{0})",
       Over({0}),
       {kPair}},
      {"reduce",
       {"f32[2,4]", "f32[]"},
       "(f32[4]{0})",
       Over({0}),
       {"one: (f32[], f32[]) -> (f32[])"}},
  });
}

TEST_CASE("reduce names what does not fit", "[ops][shape]") {
  CheckAll({
      {"reduce",
       {"f32[2,4]", "f32[]"},
       "`dimensions` names dimension 1 twice",
       Over({1, 1}),
       {kSumFloats}},
      {"reduce",
       {"f32[2,4]", "f32[]"},
       "`dimensions` names dimension 2, expected one in [0, 2)",
       Over({2}),
       {kSumFloats}},
      {"reduce",
       {"f32[2,4]", "f32[1]"},
       "`init_values[0]` has shape `f32[1]`, expected a scalar",
       Over({1}),
       {kSumFloats}},
      {"reduce",
       {"f32[2,4]", "s32[]"},
       "`init_values[0]` has element type `s32`, but `inputs[0]` has `f32`",
       Over({1}),
       {kSumFloats}},
      {"reduce",
       {"s32[2,4]", "s32[]"},
       "`inputs[0]` has element type `s32`, but the `to_apply` computation `sum` works on `f32`",
       Over({1}),
       {kSumFloats}},
      {"reduce",
       {"f32[2,4]", "s32[2,3]", "f32[]", "s32[]"},
       "`inputs[1]` has shape `s32[2,3]`, but `inputs[0]` has `f32[2,4]`",
       Over({0}),
       {kPair}},
      {"reduce",
       {"f32[2,4]", "f32[]"},
       "the `to_apply` computation `pair` has 4 parameters, expected 2",
       Over({0}),
       {kPair}},
      {"reduce",
       {"f32[2,4]", "f32[]"},
       "parameter 0 of the `to_apply` computation `ge` has shape `f32[]`, but the result it "
       "receives has `pred[]`",
       Over({0}),
       {kGe}},
      {"reduce",
       {"f32[2,4]", "f32[2,4]", "f32[]"},
       "found 3 operands, expected as many inputs as initial values, at least one of each",
       Over({0}),
       {kSumFloats}},
      {"reduce", {"f32[2,4]", "f32[]"}, "computation 0 of `to_apply` is missing", Over({0})},
  });
}

TEST_CASE("reduce-window counts window positions", "[ops][shape]") {
  CheckAll({
      {"reduce-window",
       {"f32[2,9]", "f32[]"},
       "f32[2,5]{1,0}",
       Windowed({{}, {3, 2, 1, 1}}),
       {kSumFloats}},
      {"reduce-window",
       {"f32[<=2,<=9]", "f32[]"},
       "f32[<=2,<=8]{1,0}",
       Windowed({{}, {2}}),
       {kSumFloats}},
      {"reduce-window", {"bf16[2,9]", "f32[]"}, "f32[2,8]{1,0}", Windowed({{}, {2}}), {kSumFloats}},
      {"reduce-window", {"f32[]", "f32[]"}, "f32[]", Windowed({}), {kSumFloats}},
      {"reduce-window",
       {"f32[2,4]", "s32[2,4]", "f32[]", "s32[]"},
       "(f32[2,3]{1,0}, s32[2,3]{1,0})",
       Windowed({{}, {2}}),
       {kPair}},
      {"reduce-window",
       {"f32[2,9]", "f32[]"},
       "`window` has 1 dimensions, but `inputs[0]` has rank 2",
       Windowed({{3}}),
       {kSumFloats}},
      {"reduce-window",
       {"f32[9]", "f32[]"},
       "window dimension 0 has size 0, stride 1, dilations 1 and 1; all must be at least 1",
       Windowed({{0}}),
       {kSumFloats}},
      {"reduce-window",
       {"f32[9]", "f32[]"},
       "window dimension 0 has size 2, stride 0, dilations 1 and 1; all must be at least 1",
       Windowed({{2, 0}}),
       {kSumFloats}},
  });
}

TEST_CASE("select-and-scatter wants one source element per window", "[ops][shape]") {
  CheckAll({
      {"select-and-scatter",
       {"f32[6]", "f32[2]", "f32[]"},
       "f32[6]{0}",
       Scattered({{3, 3}}),
       {kGe, kSumFloats}},
      {"select-and-scatter",
       {"f32[6]", "f32[3]", "f32[]"},
       "`source` has shape `f32[3]`, expected `f32[2]`, one element per window of `operand`",
       Scattered({{3, 3}}),
       {kGe, kSumFloats}},
      {"select-and-scatter",
       {"f32[6]", "s32[2]", "f32[]"},
       "`source` has element type `s32`, but `operand` has `f32`",
       Scattered({{3, 3}}),
       {kGe, kSumFloats}},
      {"select-and-scatter",
       {"f32[6]", "f32[2]", "f32[]"},
       "the `select` computation `sum` returns `f32[]`, expected `pred[]`",
       Scattered({{3, 3}}),
       {kSumFloats, kSumFloats}},
  });
}

TEST_CASE("sort checks its comparator", "[ops][shape]") {
  constexpr std::string_view kTwoKeys = "less: (f32[], f32[], s32[], s32[]) -> pred[]";
  CheckAll({
      {"sort", {"f32[6,2]{0,1}"}, "f32[6,2]{0,1}", SortedAlong(0), {kGe}},
      {"sort",
       {"f32[6,2]{0,1}", "s32[6,2]"},
       "(f32[6,2]{0,1}, s32[6,2]{1,0})",
       SortedAlong(0),
       {kTwoKeys}},
      {"sort",
       {"f32[6,2]"},
       "`dimensions` names dimension 2, expected one in [0, 2)",
       SortedAlong(2),
       {kGe}},
      {"sort",
       {"f32[6,2]"},
       "the `to_apply` computation `sum` returns `f32[]`, expected `pred[]`",
       SortedAlong(1),
       {kSumFloats}},
      {"sort",
       {"f32[6,2]"},
       "the `to_apply` computation `less` has 4 parameters, expected 2",
       SortedAlong(1),
       {kTwoKeys}},
      {"sort",
       {"s32[6,2]"},
       "parameter 0 of the `to_apply` computation `ge` has shape `f32[]`, expected `s32[]`, an "
       "element of `operands[0]`",
       SortedAlong(0),
       {kGe}},
      {"sort",
       {"f32[6,2]", "s32[6,3]"},
       "`operands[1]` has shape `s32[6,3]`, but `operands[0]` has `f32[6,2]`",
       SortedAlong(0),
       {kTwoKeys}},
  });
}

TEST_CASE("topk cuts the last dimension", "[ops][shape]") {
  CheckAll({
      {"topk", {"f32[6,4]{0,1}"}, "(f32[6,2]{1,0}, s32[6,2]{1,0})", Top(2)},
      {"topk", {"f32[<=6,<=4]"}, "(f32[<=6,2]{1,0}, s32[<=6,2]{1,0})", Top(2)},
      {"topk",
       {"f32[6,4]"},
       "`k` is 5, expected at most 4, the last dimension of `operand`",
       Top(5)},
      {"topk", {"f32[]"}, "`operand` has shape `f32[]`, expected rank 1 or more", Top(0)},
  });
}

TEST_CASE("map applies a scalar function", "[ops][shape]") {
  CheckAll({
      {"map", {"f32[6,4]{0,1}"}, "s32[6,4]{1,0}", MapOver({0, 1}), {"f: (f32[]) -> s32[]"}},
      {"map", {"f32[6]", "f32[6]"}, "f32[6]{0}", MapOver({0}), {kSumFloats}},
      {"map",
       {"f32[6,4]"},
       "`dimensions` must list all 2 dimensions in order",
       MapOver({0}),
       {"f: (f32[]) -> s32[]"}},
      {"map",
       {"f32[6]"},
       "the `to_apply` computation `sum` has 2 parameters, expected 1",
       MapOver({0}),
       {kSumFloats}},
      {"map",
       {"f32[6]", "s32[6]"},
       "parameter 1 of the `to_apply` computation `sum` has shape `f32[]`, expected `s32[]`, an "
       "element of `operands[1]`",
       MapOver({0}),
       {kSumFloats}},
  });
}

TEST_CASE("scan stacks outputs and hands on carries", "[ops][shape]") {
  constexpr std::string_view kStep = "step: (f32[3], f32[3]) -> (f32[3], f32[3])";
  CheckAll({
      {"scan", {"f32[5,3]", "f32[3]"}, "(f32[5,3]{1,0}, f32[3]{0})", ScanOver(0, 1), {kStep}},
      {"scan", {"f32[3,<=5]", "f32[3]"}, "(f32[3,<=5]{1,0}, f32[3]{0})", ScanOver(1, 1), {kStep}},
      {"scan",
       {"f32[]"},
       "(s32[7]{0}, f32[])",
       ScanOver(0, 1),
       {"count: (f32[]) -> (s32[], f32[])"},
       "(s32[7], f32[])"},
      {"scan",
       {"f32[5]", "f32[]"},
       "(f32[5]{0}, f32[5]{0})",
       ScanOver(0, 0),
       {"f: (f32[], f32[]) -> (f32[], f32[])"}},
      {"scan",
       {"f32[5]", "f32[]"},
       "`dimensions` names dimension 0, expected one in [0, 0)",
       ScanOver(0, 0),
       {"f: (f32[], f32[]) -> (f32[], f32[])"},
       "(f32[5], f32[5])"},
      {"scan",
       {"f32[5,4]", "f32[3]"},
       "parameter 0 of the `to_apply` computation `step` has shape `f32[3]`, expected `f32[4]`",
       ScanOver(0, 1),
       {kStep}},
      {"scan",
       {"f32[5,3]", "f32[3]"},
       "`num_carries` is 3, but there are 2 operands",
       ScanOver(0, 3),
       {kStep}},
      {"scan",
       {"f32[]"},
       "there is neither an input nor an output to scan over",
       ScanOver(0, 1),
       {"f: (f32[]) -> f32[]"}},
  });
}

}  // namespace
}  // namespace hlo
