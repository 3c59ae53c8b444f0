#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

constexpr std::string_view kAddFloats = "sum: (f32[], f32[]) -> f32[]";

// Rows of a matrix.
GatherAttrs Rows() {
  GatherAttrs attrs;
  attrs.offset_dims = {1};
  attrs.collapsed_slice_dims = {0};
  attrs.start_index_map = {0};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = {1, 6};
  return attrs;
}
// Rows of each matrix of a batch.
GatherAttrs BatchedRows() {
  GatherAttrs attrs;
  attrs.offset_dims = {2};
  attrs.collapsed_slice_dims = {1};
  attrs.start_index_map = {1};
  attrs.operand_batching_dims = {0};
  attrs.start_indices_batching_dims = {0};
  attrs.index_vector_dim = 2;
  attrs.slice_sizes = {1, 1, 6};
  return attrs;
}
template <class Fn>
AttrsPtr Changed(GatherAttrs attrs, Fn&& change) {
  change(attrs);
  return AttrsPtr::Make(attrs);
}
AttrsPtr Made(const GatherAttrs& attrs) { return AttrsPtr::Make(attrs); }

ScatterAttrs IntoRows() {
  ScatterAttrs attrs;
  attrs.update_window_dims = {1};
  attrs.inserted_window_dims = {0};
  attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  return attrs;
}

TEST_CASE("gather puts offset dimensions where they are asked for", "[ops][shape]") {
  CheckAll({
      {"gather", {"f32[5,6]{0,1}", "s32[3]"}, "f32[3,6]{1,0}", Made(Rows())},
      {"gather", {"f32[5,6]", "s32[3,1]"}, "f32[3,6]{1,0}", Made(Rows())},
      {"gather", {"f32[<=5,<=6]", "u8[<=3]"}, "f32[<=3,<=6]{1,0}", Made(Rows())},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "f32[6,3]{1,0}",
       Changed(Rows(), [](auto& a) { a.offset_dims = {0}; })},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "f32[3,2]{1,0}",
       Changed(Rows(),
               [](auto& a) {
                 a.slice_sizes = {0, 2};
               })},
      {"gather", {"f32[4,5,6]", "s32[4,3]"}, "f32[4,3,6]{2,1,0}", Made(BatchedRows())},
  });
}

TEST_CASE("gather names what does not fit", "[ops][shape]") {
  CheckAll({
      {"gather",
       {"f32[5,6]", "f32[3]"},
       "the indices have element type `f32`, expected integer",
       Made(Rows())},
      {"gather",
       {"f32[5,6]", "s32[3,2]"},
       "`start_index_map` has 1 entries, but the index vectors have 2 components",
       Made(Rows())},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "slice size 2 of dimension 0 must be at most 1, as the dimension is collapsed or batching",
       Changed(Rows(),
               [](auto& a) {
                 a.slice_sizes = {2, 6};
               })},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "slice size 7 of dimension 1 is not in [0, 6], the size of `operand`",
       Changed(Rows(),
               [](auto& a) {
                 a.slice_sizes = {1, 7};
               })},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "`index_vector_dim` is 2, expected at most 1, the rank of the indices",
       Changed(Rows(), [](auto& a) { a.index_vector_dim = 2; })},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "`offset_dims` has 2 entries, expected rank 2 of `operand` without 1 collapsed and 0 "
       "batching dimensions",
       Changed(Rows(),
               [](auto& a) {
                 a.offset_dims = {0, 1};
               })},
      {"gather",
       {"f32[5,6]", "s32[3]"},
       "`offset_dims` names dimension 2, expected one in [0, 2)",
       Changed(Rows(), [](auto& a) { a.offset_dims = {2}; })},
      // These have a shape, but no meaning: lib/ir/verify_meaning.cc.
      {"gather", {"f32[4,5,6]", "s32[7,3]"}, "f32[7,3,6]{2,1,0}", Made(BatchedRows())},
      {"gather",
       {"f32[4,5,6]", "s32[4,3]"},
       "f32[4,3,1]{2,1,0}",
       Changed(BatchedRows(), [](auto& a) { a.collapsed_slice_dims = {0}; })},
      {"gather",
       {"f32[4,5,6]", "s32[4,3]"},
       "f32[4,3,6]{2,1,0}",
       Changed(BatchedRows(), [](auto& a) { a.start_index_map = {0}; })},
      {"gather",
       {"f32[4,5,6]", "s32[4,3]"},
       "`collapsed_slice_dims` must ascend, but 0 follows 1",
       Changed(BatchedRows(),
               [](auto& a) {
                 a.collapsed_slice_dims = {1, 0};
               })},
  });
}

TEST_CASE("scatter keeps the shapes of its inputs", "[ops][shape]") {
  const AttrsPtr rows = AttrsPtr::Make(IntoRows());
  CheckAll({
      {"scatter", {"f32[5,6]{0,1}", "s32[3]", "f32[3,6]"}, "f32[5,6]{0,1}", rows, {kAddFloats}},
      {"scatter", {"f32[5,6]", "s32[3]", "bf16[3,4]"}, "f32[5,6]{1,0}", rows, {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "s32[5,6]", "s32[3]", "f32[3,6]", "s32[3,6]"},
       "(f32[5,6]{1,0}, s32[5,6]{1,0})",
       rows,
       {"pair: (f32[], s32[], f32[], s32[]) -> (f32[], s32[])"}},
  });
}

TEST_CASE("scatter names what does not fit", "[ops][shape]") {
  const AttrsPtr rows = AttrsPtr::Make(IntoRows());
  ScatterAttrs nothing_inserted = IntoRows();
  nothing_inserted.inserted_window_dims = {};
  CheckAll({
      {"scatter",
       {"f32[5,6]", "s32[3]", "f32[3,7]"},
       "window dimension 1 of the updates is 7, but dimension 1 of `operands[0]` is only 6",
       rows,
       {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "s32[3]", "f32[2,6]"},
       "dimension 0 of the updates is 2, but dimension 0 of the indices is 3",
       rows,
       {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "s32[3]", "f32[3,6,1]"},
       "updates have shape `f32[3,6,1]` of rank 3, expected rank 2: 1 index dimensions and 1 "
       "window dimensions",
       rows,
       {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "s32[3]", "f32[3,6]"},
       "`update_window_dims` has 1 entries, expected rank 2 of `operands[0]` without 0 inserted "
       "and 0 batching dimensions",
       AttrsPtr::Make(nothing_inserted),
       {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "s32[3]", "s32[3,6]"},
       "update 0 has element type `s32`, but input 0 has `f32`",
       rows,
       {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "s32[3]", "f32[3,6]"},
       "the `to_apply` computation `f` has 1 parameters, expected 2",
       rows,
       {"f: (f32[]) -> f32[]"}},
      {"scatter",
       {"f32[5,6]", "s32[3]", "f32[3,6]"},
       "the `to_apply` computation `ge` returns `pred[]` for value 0, expected `f32[]`",
       rows,
       {"ge: (f32[], f32[]) -> pred[]"}},
      {"scatter",
       {"f32[5,6]", "s32[3]"},
       "found 2 operands, expected inputs, indices, and as many updates as inputs",
       rows,
       {kAddFloats}},
      {"scatter",
       {"f32[5,6]", "f32[5,7]", "s32[3]", "f32[3,6]", "f32[3,6]"},
       "(f32[5,6]{1,0}, f32[5,7]{1,0})",  // a shape, but no meaning
       rows,
       {"pair: (f32[], f32[], f32[], f32[]) -> (f32[], f32[])"}},
      {"scatter",
       {"f32[5,6]", "f32[5,4]", "s32[3]", "f32[3,6]", "f32[3,6]"},
       "window dimension 1 of the updates is 6, but dimension 1 of `operands[1]` is only 4",
       rows,
       {"pair: (f32[], f32[], f32[], f32[]) -> (f32[], f32[])"}},
      {"scatter",
       {"f32[5,6]", "f32[5,7,1]", "s32[3]", "f32[3,6]", "f32[3,6]"},
       "`operands[1]` has shape `f32[5,7,1]` of rank 3, expected rank 2",
       rows,
       {kAddFloats}},
  });
}

}  // namespace
}  // namespace hlo
