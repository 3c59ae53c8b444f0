#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

AttrsPtr BroadcastTo(DimVec dims) { return AttrsPtr::Make(BroadcastAttrs{dims}); }
AttrsPtr Transposed(DimVec dims) { return AttrsPtr::Make(TransposeAttrs{dims}); }
AttrsPtr Reversed(DimVec dims) { return AttrsPtr::Make(ReverseAttrs{dims}); }
AttrsPtr Along(int64_t d) { return AttrsPtr::Make(ConcatenateAttrs{{d}}); }
AttrsPtr Slices(SliceRanges slice) { return AttrsPtr::Make(SliceAttrs{slice}); }
AttrsPtr Sizes(DimVec sizes) { return AttrsPtr::Make(DynamicSliceAttrs{sizes}); }
AttrsPtr Iota(int64_t d) { return AttrsPtr::Make(IotaAttrs{d}); }
AttrsPtr Padding(std::initializer_list<PaddingDim> dims) {
  return AttrsPtr::Make(PadAttrs{PaddingConfig{dims}});
}

TEST_CASE("broadcast maps dimensions of equal size", "[ops][shape]") {
  CheckAll({
      {"broadcast", {"f32[]"}, "f32[]"},
      {"broadcast", {"f32[3]"}, "f32[2,3]{0,1}", BroadcastTo({1}), {}, "f32[2,3]{0,1}"},
      {"broadcast", {"f32[3,2]"}, "f32[2,3]{1,0}", BroadcastTo({1, 0}), {}, "f32[2,3]"},
      {"broadcast",
       {"f32[1]"},
       "dimension 0 of `operand` has size 1, but dimension 1 of the result, which it feeds, has 3",
       BroadcastTo({1}),
       {},
       "f32[2,3]"},
      {"broadcast",
       {"f32[3]"},
       "`dimensions` has 2 entries, but `operand` has rank 1",
       BroadcastTo({0, 1}),
       {},
       "f32[2,3]"},
      {"broadcast",
       {"f32[3,3]"},
       "f32[2,3]{1,0}",  // both rows and columns of the operand run along dimension 1
       BroadcastTo({1, 1}),
       {},
       "f32[2,3]"},
      {"broadcast",
       {"f32[3]"},
       "`dimensions` names dimension 2, expected one in [0, 2)",
       BroadcastTo({2}),
       {},
       "f32[2,3]"},
      {"broadcast", {"f64[3]"}, "f64[2,3]{1,0}", BroadcastTo({1}), {}, "f32[2,3]"},
      {"broadcast",
       {"f32[3]"},
       "the result has element type `s32`, but `operand` has `f32`",
       BroadcastTo({1}),
       {},
       "s32[2,3]"},
      {"broadcast",
       {"f32[3]"},
       "the result shape cannot be inferred and must be written",
       BroadcastTo({1})},
  });
}

TEST_CASE("reshape keeps the number and type of elements", "[ops][shape]") {
  CheckAll({
      {"reshape", {"f32[2,3]"}, "f32[6]{0}", {}, {}, "f32[6]"},
      {"reshape", {"f32[?,3]"}, "f32[6]{0}", {}, {}, "f32[6]"},
      {"reshape",
       {"f32[2,3]"},
       "the result `f32[5]` has 5 elements, but `operand` has 6: `f32[2,3]`",
       {},
       {},
       "f32[5]"},
      {"reshape",
       {"f32[2,3]"},
       "the result has element type `s32`, but `operand` has `f32`",
       {},
       {},
       "s32[6]"},
      {"reshape",
       {"f32[2,3]"},
       "`inferred_dimension` names dimension 1, expected one in [0, 1)",
       AttrsPtr::Make(ReshapeAttrs{1}),
       {},
       "f32[6]"},
      {"dynamic-reshape", {"f32[<=6]", "s32[]", "s32[]"}, "f32[<=2,3]{1,0}", {}, {}, "f32[<=2,3]"},
      {"dynamic-reshape",
       {"f32[<=6]", "s32[]"},
       "found 1 size operands, expected 2, one per dimension of the result `f32[<=2,3]`",
       {},
       {},
       "f32[<=2,3]"},
      {"dynamic-reshape",
       {"f32[<=6]", "s64[]"},
       "`dim_sizes[0]` has shape `s64[]`, expected `s32[]`",
       {},
       {},
       "f32[<=6]"},
  });
}

TEST_CASE("transpose picks the layout that moves nothing", "[ops][shape]") {
  CheckAll({
      {"transpose", {"f32[2,3,4]{0,2,1}"}, "f32[4,2,3]{1,0,2}", Transposed({2, 0, 1})},
      {"transpose", {"f32[2,<=3,4]"}, "f32[4,2,<=3]{0,2,1}", Transposed({2, 0, 1})},
      {"transpose",
       {"f32[2,3]"},
       "`dimensions` must be a permutation of the 2 dimensions of `operand`, found 2 entries: "
       "{0,0}",
       Transposed({0, 0})},
      {"transpose",
       {"f32[2,3]"},
       "`dimensions` must be a permutation of the 2 dimensions of `operand`, found 1 entries: {0}",
       Transposed({0})},
  });
}

TEST_CASE("pad adds and crops", "[ops][shape]") {
  CheckAll({
      {"pad", {"f32[4]", "f32[]"}, "f32[10]{0}", Padding({{1, 2, 1}})},
      {"pad", {"f32[0]", "f32[]"}, "f32[3]{0}", Padding({{1, 2, 3}})},
      {"pad", {"f32[<=4]", "f32[]"}, "f32[<=7]{0}", Padding({{1, 2, 0}})},
      {"pad", {"f32[4]", "bf16[]"}, "f32[7]{0}", Padding({{1, 2, 0}})},
      {"pad", {"f32[4]", "f32[]"}, "f32[1]{0}", Padding({{-1, -2, 0}})},
      {"pad",
       {"f32[4]", "f32[]"},
       "dimension 0 of `operand` has size 4 and would have -1 after padding",
       Padding({{-3, -2, 0}})},
      {"pad",
       {"f32[4]", "f32[]"},
       "interior padding of dimension 0 is -1, expected at least 0",
       Padding({{0, 0, -1}})},
      {"pad",
       {"f32[4]", "f32[1]"},
       "`padding_value` has shape `f32[1]`, expected a scalar",
       Padding({{1, 2, 0}})},
      {"pad",
       {"f32[4]", "s32[]"},
       "`padding_value` has element type `s32`, but `operand` has `f32`",
       Padding({{1, 2, 0}})},
      {"pad",
       {"f32[4]", "f32[]"},
       "`padding` has 2 entries, but `operand` has rank 1",
       Padding({{1, 2, 0}, {0, 0, 0}})},
  });
}

TEST_CASE("concatenate adds up one dimension", "[ops][shape]") {
  CheckAll({
      {"concatenate", {"f32[4,2]{0,1}", "f32[3,2]"}, "f32[7,2]{1,0}", Along(0)},
      {"concatenate", {"f32[<=4,2]", "f32[3,2]"}, "f32[<=7,2]{1,0}", Along(0)},
      {"concatenate", {"f32[4,<=2]", "bf16[3,2]"}, "f32[7,<=2]{1,0}", Along(0)},
      {"concatenate", {"f32[4,2]"}, "f32[4,2]{1,0}", Along(1)},
      {"concatenate",
       {"f32[4,2]", "f32[3,3]"},
       "dimension 1 of `operands[1]` has size 3, but that of `operands[0]` has 2; only dimension 0 "
       "may differ",
       Along(0)},
      {"concatenate",
       {"f32[4,2]", "f32[3]"},
       "`operands[1]` has shape `f32[3]` of rank 1, expected rank 2",
       Along(0)},
      {"concatenate",
       {"f32[4,2]", "s32[3,2]"},
       "`operands[1]` has element type `s32`, but `operands[0]` has `f32`",
       Along(0)},
      {"concatenate",
       {"f32[]", "f32[]"},
       "`dimensions` names dimension 0, expected one in [0, 0)",
       Along(0)},
      {"concatenate", {}, "expected at least one operand", Along(0)},
  });
}

TEST_CASE("reverse and iota name dimensions in range", "[ops][shape]") {
  CheckAll({
      {"reverse", {"f32[4,2]{0,1}"}, "f32[4,2]{0,1}", Reversed({1})},
      {"reverse", {"f32[4,2]"}, "`dimensions` names dimension 1 twice", Reversed({1, 1})},
      {"reverse",
       {"f32[4,2]"},
       "`dimensions` names dimension 2, expected one in [0, 2)",
       Reversed({2})},
      {"iota", {}, "bf16[4,2]{0,1}", Iota(1), {}, "bf16[4,2]{0,1}"},
      {"iota",
       {},
       "`iota_dimension` names dimension 2, expected one in [0, 2)",
       Iota(2),
       {},
       "s32[4,2]"},
      {"iota",
       {},
       "the result is the scalar `s32[]`, expected rank 1 or more",
       Iota(0),
       {},
       "s32[]"},
      {"iota",
       {},
       "the result has element type `pred`, expected integer, float or complex",
       Iota(0),
       {},
       "pred[2]"},
  });
}

TEST_CASE("slice stays in bounds", "[ops][shape]") {
  CheckAll({
      {"slice", {"f32[9,4]"}, "f32[4,0]{1,0}", Slices({{1, 9, 2}, {2, 2, 1}})},
      {"slice", {"f32[9,4]"}, "f32[4,4]{0,1}", Slices({{1, 9, 2}, {0, 4, 1}}), {}, "f32[4,4]{0,1}"},
      {"slice",
       {"f32[9]"},
       "range 0 ends at 10, but dimension 0 of `operand` has size 9",
       Slices({{1, 10, 1}})},
      {"slice", {"f32[9]"}, "range 0 is [5:3], expected 0 <= start <= limit", Slices({{5, 3, 1}})},
      {"slice", {"f32[9]"}, "range 0 has stride 0, expected at least 1", Slices({{0, 3, 0}})},
      {"slice",
       {"f32[9,4]"},
       "`slice` has 1 ranges, but `operand` has rank 2",
       Slices({{0, 3, 1}})},
      {"slice",
       {"f32[9]"},
       "the result is declared as `f32[4]`, expected `f32[3]`",
       Slices({{0, 3, 1}}),
       {},
       "f32[4]"},
  });
}

TEST_CASE("dynamic slices take one index per dimension", "[ops][shape]") {
  CheckAll({
      {"dynamic-slice", {"f32[9,4]", "s32[]", "s32[]"}, "f32[2,4]{1,0}", Sizes({2, 4})},
      {"dynamic-slice", {"f32[9,4]", "s32[2]"}, "f32[2,4]{1,0}", Sizes({2, 4})},
      {"dynamic-slice",
       {"f32[9,4]", "s32[]", "s32[]"},
       "slice size 5 of dimension 1 is not in [0, 4], the size of `operand`",
       Sizes({2, 5})},
      {"dynamic-slice",
       {"f32[9,4]", "s32[]"},
       "found 1 start indices, expected 2, one per dimension of `operand`",
       Sizes({2, 4})},
      {"dynamic-slice",
       {"f32[9,4]", "s32[]", "s64[]"},
       "`start_indices[1]` has element type `s64`, but `start_indices[0]` has `s32`",
       Sizes({2, 4})},
      {"dynamic-slice",
       {"f32[9]", "f32[]"},
       "`start_indices[0]` has shape `f32[]`, expected an integer scalar",
       Sizes({2})},
      {"dynamic-update-slice", {"f32[9,4]{0,1}", "f32[2,4]", "u8[]", "u8[]"}, "f32[9,4]{0,1}"},
      {"dynamic-update-slice",
       {"f32[9]", "f32[10]", "s32[]"},
       "dimension 0 of `update` has size 10, but `operand` has only 9"},
      {"dynamic-update-slice",
       {"f32[9]", "s32[2]", "s32[]"},
       "`update` has element type `s32`, but `operand` has `f32`"},
      {"dynamic-update-slice",
       {"f32[9]", "f32[2,1]", "s32[]"},
       "`update` has shape `f32[2,1]` of rank 2, expected rank 1"},
  });
}

TEST_CASE("bitcast-convert splits and joins the last dimension", "[ops][shape]") {
  CheckAll({
      {"bitcast-convert", {"f32[3]"}, "s32[3]{0}", {}, {}, "s32[3]"},
      {"bitcast-convert", {"f32[3]"}, "u8[3,4]{1,0}", {}, {}, "u8[3,4]"},
      {"bitcast-convert", {"u8[3,4]"}, "u32[3]{0}", {}, {}, "u32[3]"},
      {"bitcast-convert", {"u4[8]"}, "u32[]", {}, {}, "u32[]"},
      {"bitcast-convert", {"pred[3]"}, "u8[3]{0}", {}, {}, "u8[3]"},
      {"bitcast-convert",
       {"f32[3]"},
       "the result is declared as `u8[3]`, expected `u8[3,4]`",
       {},
       {},
       "u8[3]"},
      {"bitcast-convert",
       {"u8[3,2]"},
       "`operand` has shape `u8[3,2]`; the last dimension must have the static size 4 to form "
       "`u32`",
       {},
       {},
       "u32[3]"},
      {"bitcast-convert",
       {"c64[3]"},
       "cannot reinterpret `c64` as `f64`: only one of them is complex",
       {},
       {},
       "f64[3]"},
      {"bitcast", {"f32[2,3]"}, "f32[6]{0}", {}, {}, "f32[6]"},
      {"bitcast", {"f32[2,3]"}, "(f32[6]{0})", {}, {}, "(f32[6])"},
  });
}

}  // namespace
}  // namespace hlo
