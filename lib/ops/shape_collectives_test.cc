#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

constexpr std::string_view kAdd = "sum: (f32[], f32[]) -> f32[]";

ReplicaGroups Groups(ReplicaGroups::Lists lists) { return ReplicaGroups{lists}; }
ReplicaGroups Pairs() { return Groups({{0, 1}, {2, 3}}); }

template <class A>
AttrsPtr Along(int64_t d, ReplicaGroups groups) {
  A attrs;
  attrs.dimensions = BracedDim{d};
  attrs.replica_groups = std::move(groups);
  return AttrsPtr::Make(attrs);
}

AttrsPtr InPlace() {
  CollectivePermuteAttrs attrs;
  attrs.source_target_pairs = {{0, 1}};
  attrs.slice_sizes = {{2}};
  return AttrsPtr::Make(attrs);
}

TEST_CASE("all-gather and reduce-scatter scale one dimension", "[ops][shape]") {
  const AttrsPtr gather = Along<AllGatherAttrs>(1, Pairs());
  const AttrsPtr gather_all = Along<AllGatherAttrs>(1, {});
  const AttrsPtr scatter = Along<ReduceScatterAttrs>(1, Pairs());
  CheckAll({
      {"all-gather", {"f32[4,3]"}, "f32[4,6]{0,1}", gather, {}, "f32[4,6]{0,1}"},
      {"all-gather", {"f32[4,3]", "s32[2,5]"}, "(f32[4,6]{1,0}, s32[2,10]{1,0})", gather},
      {"all-gather", {"f32[4,3]"}, "f32[4,9]{1,0}", gather_all, {}, "f32[4,9]"},
      {"all-gather",
       {"f32[4,3]"},
       "the result is declared as `f32[4,9]`, expected `f32[4,6]`",
       gather,
       {},
       "f32[4,9]"},
      {"all-gather",
       {"f32[4,3]"},
       "dimension 1 of the result is 8 and that of `operands[0]` 3, which no number of devices "
       "explains",
       gather_all,
       {},
       "f32[4,8]"},
      {"all-gather", {"f32[4]"}, "`dimensions` names dimension 1, expected one in [0, 1)", gather},
      {"all-gather-start",
       {"f32[4,3]"},
       "(f32[4,3]{1,0}, f32[4,6]{1,0})",
       gather,
       {},
       "(f32[4,3], f32[4,6])"},
      {"all-gather-start",
       {"f32[4,3]", "s32[2,5]"},
       "((f32[4,3]{1,0}, s32[2,5]{1,0}), (f32[4,6]{1,0}, s32[2,10]{1,0}))",
       gather},
      {"all-gather-done", {"(f32[4,3], f32[4,6])"}, "f32[4,6]{1,0}"},
      {"all-gather-done",
       {"f32[4,3]"},
       "`operand` has shape `f32[4,3]`, expected a tuple of operands and results"},
      {"reduce-scatter", {"f32[4,6]"}, "f32[4,3]{1,0}", scatter, {kAdd}, "f32[4,3]"},
      {"reduce-scatter",
       {"f32[4,5]"},
       "dimension 1 of `operands[0]` has size 5, which groups of 2 devices do not divide",
       scatter,
       {kAdd},
       "f32[4,3]"},
      {"reduce-scatter",
       {"f32[4,6]"},
       "f32[4,2]{1,0}",
       Along<ReduceScatterAttrs>(1, {}),
       {kAdd},
       "f32[4,2]"},
  });
}

TEST_CASE("all-reduce and its halves keep shapes", "[ops][shape]") {
  CheckAll({
      {"all-reduce", {"f32[4,2]{0,1}"}, "f32[4,2]{0,1}", {}, {kAdd}},
      {"all-reduce", {"f32[4]", "s32[2]"}, "(f32[4]{0}, s32[2]{0})", {}, {kAdd}},
      {"all-reduce",
       {"f32[4]"},
       "the result is declared as `f32[5]`, expected `f32[4]`",
       {},
       {kAdd},
       "f32[5]"},
      // What it is combined with does not matter to the shape.
      {"all-reduce", {"f32[4]"}, "f32[4]{0}", {}, {"f: (f32[4], f32[4]) -> f32[4]"}},
      {"all-reduce-start", {"f32[4]"}, "f32[4]{0}", {}, {kAdd}, "f32[4]"},
      {"all-reduce-done", {"f32[4]"}, "f32[4]{0}", {}, {}, "f32[4]"},
  });
}

TEST_CASE("all-to-all has an array and a tuple form", "[ops][shape]") {
  const AttrsPtr array = Along<AllToAllAttrs>(0, Pairs());
  AllToAllAttrs tuple;
  tuple.replica_groups = Pairs();
  CheckAll({
      {"all-to-all", {"f32[4,3]"}, "f32[4,3]{1,0}", array},
      {"all-to-all",
       {"f32[3,3]"},
       "dimension 0 of `operands[0]` has size 3, which groups of 2 devices do not divide",
       array},
      {"all-to-all", {"f32[4]", "f32[4]"}, "found 2 operands, expected 1 with `dimensions`", array},
      {"all-to-all", {"f32[4]", "f32[4]"}, "(f32[4]{0}, f32[4]{0})", AttrsPtr::Make(tuple)},
      {"all-to-all",
       {"f32[4]", "f32[4]", "f32[4]"},
       "found 3 operands, expected 2, one per device of a group",
       AttrsPtr::Make(tuple)},
      {"all-to-all",
       {"f32[4]", "f32[5]"},
       "`operands[1]` has shape `f32[5]{0}`, but `operands[0]` has `f32[4]{0}`; expected equal "
       "ones",
       AttrsPtr::Make(tuple)},
      {"all-to-all",
       {"f32[4,2]{0,1}", "f32[4,2]{1,0}"},
       "`operands[1]` has shape `f32[4,2]{1,0}`, but `operands[0]` has `f32[4,2]{0,1}`; expected "
       "equal ones",
       AttrsPtr::Make(tuple)},
      {"all-to-all", {"(f32[4])", "(f32[4])"}, "((f32[4]{0}), (f32[4]{0}))", AttrsPtr::Make(tuple)},
  });
}

TEST_CASE("ragged-all-to-all gives the output operand's shape", "[ops][shape]") {
  CheckAll({
      {"ragged-all-to-all",
       {"f32[8,3]", "f32[9,3]", "s32[2]", "s32[2]", "s32[2]", "s32[2]"},
       "f32[9,3]{1,0}"},
      {"ragged-all-to-all",
       {"f32[8,3]", "f32[9,4]", "s32[2]", "s32[2]", "s32[2]", "s32[2]"},
       "`operands[1]` has shape `f32[9,4]`, but `operands[0]` has `f32[8,3]`; only dimension 0 may "
       "differ"},
      {"ragged-all-to-all",
       {"f32[8,3]", "f32[9,3]", "s32[2]", "s32[3]", "s32[2]", "s32[2]"},
       "`operands[3]` has shape `s32[3]`, but `operands[2]` has `s32[2]`"},
      {"ragged-all-to-all",
       {"f32[8]"},
       "found 1 operands, expected 6: input, output, input offsets, send sizes, output offsets, "
       "receive sizes"},
  });
}

TEST_CASE("broadcast and permute keep shapes", "[ops][shape]") {
  CollectiveBroadcastAttrs dynamic_root;
  dynamic_root.has_dynamic_root = true;
  CheckAll({
      {"collective-broadcast", {"f32[4]", "s32[2]"}, "(f32[4]{0}, s32[2]{0})"},
      {"collective-broadcast", {"f32[4]", "s32[1]"}, "f32[4]{0}", AttrsPtr::Make(dynamic_root)},
      {"collective-broadcast", {"f32[4]", "f32[2]"}, "f32[4]{0}", AttrsPtr::Make(dynamic_root)},
      {"collective-permute", {"f32[4]"}, "f32[4]{0}"},
      {"collective-permute", {"f32[4]", "s32[2]"}, "(f32[4]{0}, s32[2]{0})"},
      {"collective-permute", {"f32[4]", "f32[9]", "(s32[])", "(s32[])"}, "f32[9]{0}", InPlace()},
      {"collective-permute",
       {"f32[4]", "f32[9]", "(s32[], s32[])", "(s32[])"},
       "the input start indices have shape `(s32[], s32[])`, expected one integer per dimension of "
       "`f32[4]`",
       InPlace()},
      {"collective-permute",
       {"f32[4]", "(f32[4])", "(s32[])", "((s32[]))"},
       "the input is `f32[4]`, but the output `(f32[4])`; expected two arrays or two tuples of one "
       "length",
       InPlace()},
      {"collective-permute",
       {"(f32[4])", "(f32[4])"},
       "`operands[0]` has shape `(f32[4])`, expected an array"},
      {"collective-permute",
       {"f32[4]"},
       "`slice_sizes` is given, so 4 operands are expected (input, output, their start indices), "
       "found 1",
       InPlace()},
      {"collective-permute-start",
       {"f32[4]"},
       "(f32[4]{0}, f32[4]{0}, u32[], u32[])",
       {},
       {},
       "(f32[4], f32[4], u32[], u32[])"},
      {"collective-permute-start", {"f32[4]"}, "(f32[4]{0}, f32[4]{0})"},
      {"collective-permute-start",
       {"(f32[4])", "(s8[2])"},
       "(((f32[4]{0}), (s8[2]{0})), ((f32[4]{0}), (s8[2]{0})))"},
      {"collective-permute-start",
       {"f32[4]"},
       "(f32[4]{0}, f32[4]{0}, s8[2]{0})",
       {},
       {},
       "(f32[4], f32[4], s8[2])"},
      {"collective-permute-start",
       {"f32[4]"},
       "the result is declared as `(f32[4], f32[5])`, expected `(f32[4], f32[4])`",
       {},
       {},
       "(f32[4], f32[5])"},
      {"collective-permute-done", {"(f32[4], f32[4]{0}, u32[])"}, "f32[4]{0}"},
      {"partition-id", {}, "u32[]"},
      {"replica-id", {}, "u32[]"},
  });
}

}  // namespace
}  // namespace hlo
