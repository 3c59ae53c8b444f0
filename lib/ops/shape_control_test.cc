#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

constexpr std::string_view kBody = "body: (f32[4]) -> f32[4]";
constexpr std::string_view kCondition = "condition: (f32[4]) -> pred[]";

AttrsPtr Index(int64_t i) { return AttrsPtr::Make(GetTupleElementAttrs{i}); }

TEST_CASE("tuples are built and taken apart", "[ops][shape]") {
  CheckAll({
      {"tuple", {"f32[4,8]{0,1}", "token[]"}, "(f32[4,8]{0,1}, token[])"},
      {"tuple", {}, "()"},
      {"get-tuple-element", {"(f32[4,8]{0,1}, s32[])"}, "f32[4,8]{0,1}", Index(0)},
      {"get-tuple-element",
       {"(f32[4,8], s32[])"},
       "element 2 does not exist: `operand` has 2 elements",
       Index(2)},
      {"get-tuple-element",
       {"(f32[4,8], s32[])"},
       "element -1 does not exist: `operand` has 2 elements",
       Index(-1)},
      {"get-tuple-element", {"f32[2]"}, "`operand` has shape `f32[2]`, expected a tuple", Index(0)},
      {"opt-barrier", {"(f32[4]{0}, s32[])"}, "(f32[4]{0}, s32[])"},
      {"domain", {"f32[4,2]{0,1}"}, "f32[4,2]{0,1}"},
  });
}

TEST_CASE("calls and fusions pass their operands", "[ops][shape]") {
  CheckAll({
      {"call", {"f32[4]"}, "f32[4]{0}", {}, {kBody}},
      {"call",
       {"f32[5]"},
       "parameter 0 of the `to_apply` computation `body` has shape `f32[4]`, but `operands[0]` has "
       "`f32[5]`",
       {},
       {kBody}},
      {"call",
       {"f32[4]", "f32[4]"},
       "the `to_apply` computation `body` has 1 parameters, expected 2",
       {},
       {kBody}},
      {"fusion", {"f32[4]"}, "f32[4]{0}", {}, {kBody}, "f32[4]"},
      {"fusion",
       {"f32[4]"},
       "the result is declared as `f32[3]`, expected `f32[4]`",
       {},
       {kBody},
       "f32[3]"},
      {"fusion", {"f32[4]"}, "computation 0 of `calls` is missing", {}, {}, "f32[4]"},
  });
}

TEST_CASE("while has the shape of what its body returns", "[ops][shape]") {
  CheckAll({
      {"while", {"f32[4]"}, "f32[4]{0}", {}, {kCondition, kBody}},
      {"while",
       {"f32[5]"},
       "parameter 0 of the `condition` computation `condition` has shape `f32[4]`, but `init` has "
       "`f32[5]`",
       {},
       {kCondition, kBody}},
      {"while",
       {"f32[4]"},
       "the `condition` computation `c` returns `s32[]`, expected `pred[]`",
       {},
       {"c: (f32[4]) -> s32[]", kBody}},
      {"while", {"f32[4]"}, "pred[]", {}, {kCondition, kCondition}},
      {"while", {"f32[4]"}, "computation 1 of `body` is missing", {}, {kCondition}},
  });
}

TEST_CASE("conditional merges its branches", "[ops][shape]") {
  constexpr std::string_view kDynamic = "other: (f32[4]) -> f32[<=4]";
  CheckAll({
      {"conditional", {"pred[]", "f32[4]", "f32[4]"}, "f32[<=4]{0}", {}, {kBody, kDynamic}},
      {"conditional", {"s32[]", "f32[4]"}, "f32[4]{0}", {}, {kBody}},
      {"conditional",
       {"s32[]", "f32[4]", "f32[5]"},
       "parameter 0 of computation 1 of `branch_computations`, `other`, has shape `f32[4]`, but "
       "`branch_operands[1]` has "
       "`f32[5]`",
       {},
       {kBody, kDynamic}},
      {"conditional",
       {"s32[]", "f32[4]", "f32[4]"},
       "computation 1 of `branch_computations`, `condition`, returns `pred[]`, but branch 0 "
       "returns `f32[4]`",
       {},
       {kBody, kCondition}},
      {"conditional",
       {"pred[]", "f32[4]"},
       "found 1 branches, expected 2 for a `pred[]` selector",
       {},
       {kBody}},
      {"conditional",
       {"s32[]", "f32[4]"},
       "found 2 branches, but 1 branch operands",
       {},
       {kBody, kBody}},
      {"conditional",
       {"u32[]", "f32[4]"},
       "`selector` has shape `u32[]`, expected `pred[]` or `s32[]`",
       {},
       {kBody}},
      {"conditional", {"s32[]"}, "expected at least one branch"},
  });
}

TEST_CASE("tokens and host transfers", "[ops][shape]") {
  OutfeedAttrs outfeed;
  outfeed.outfeed_shape = S("f32[4]");
  CheckAll({
      {"after-all", {"token[]", "token[]"}, "token[]"},
      {"after-all", {"f32[2]"}, "token[]"},
      {"add-dependency", {"f32[4,8]{0,1}", "token[]"}, "f32[4,8]{0,1}"},
      {"add-dependency", {"f32[4]", "f32[4]"}, "`token` has shape `f32[4]`, expected `token[]`"},
      {"infeed",
       {"token[]"},
       "((f32[3]{0}, s32[]), token[])",
       {},
       {},
       "((f32[3], s32[]), token[])"},
      {"infeed",
       {"token[]"},
       "the result is declared as `f32[3]`, expected a non-empty tuple that starts with the data",
       {},
       {},
       "f32[3]"},
      {"outfeed", {"f32[4]", "token[]"}, "token[]", AttrsPtr::Make(outfeed)},
      {"outfeed",
       {"f32[5]", "token[]"},
       "`outfeed_shape` is `f32[4]`, but `operand` has shape `f32[5]`",
       AttrsPtr::Make(outfeed)},
      {"send", {"f32[4]", "token[]"}, "(f32[4]{0}, u32[], token[])"},
      {"send", {"f32[4]", "f32[]"}, "(f32[4]{0}, u32[], token[])"},
      {"send-done", {"(f32[4], u32[], token[])"}, "token[]"},
      {"send-done", {"(f32[4], u32[])"}, "element 2 does not exist: `operand` has 2 elements"},
      {"recv", {"token[]"}, "(f32[4]{0}, u32[], token[])", {}, {}, "(f32[4], u32[], token[])"},
      {"recv",
       {"token[]"},
       "the result is declared as `(f32[4], token[])`, expected `(f32[4], u32[], token[])`",
       {},
       {},
       "(f32[4], token[])"},
      {"recv-done", {"(f32[4]{0}, u32[], token[])"}, "(f32[4]{0}, token[])"},
      {"recv-done", {"f32[4]"}, "`operand` has shape `f32[4]`, expected a tuple"},
  });
}

TEST_CASE("copies and asynchronous pairs", "[ops][shape]") {
  constexpr std::string_view kWrapped = "wrapped: (f32[4], f32[2]) -> f32[6]";
  CheckAll({
      {"copy-start",
       {"f32[4,2]"},
       "(f32[4,2]{0,1}, f32[4,2]{1,0}, u32[])",
       {},
       {},
       "(f32[4,2]{0,1}, f32[4,2]{1,0}, u32[])"},
      {"copy-start",
       {"f32[4]"},
       "the result is declared as `(f32[5], f32[4], u32[])`, expected `(f32[4], f32[4], u32[])`",
       {},
       {},
       "(f32[5], f32[4], u32[])"},
      {"copy-done", {"(f32[4], f32[4], u32[])"}, "f32[4]{0}"},
      {"copy-done",
       {"(f32[4], f32[5], u32[])"},
       "`operand` has shape `(f32[4], f32[5], u32[])`, but copies between equal shapes"},
      {"async-start", {"f32[4]", "f32[2]"}, "((f32[4]{0}, f32[2]{0}), f32[6]{0})", {}, {kWrapped}},
      {"async-start",
       {"f32[4]"},
       "((f32[4]{0}), (), u32[])",
       {},
       {kWrapped},
       "((f32[4]), (), u32[])"},
      {"async-start",
       {"f32[4]", "f32[2]"},
       "element 1 of the result is `f32[5]`, but the `calls` computation `wrapped` returns "
       "`f32[6]`",
       {},
       {kWrapped},
       "((f32[4], f32[2]), f32[5])"},
      {"async-start",
       {"f32[4]"},
       "element 0 of the result is `(f32[2])`, expected the operands' shapes `(f32[4])`",
       {},
       {kWrapped},
       "((f32[2]), f32[6])"},
      {"async-start",
       {"f32[4]", "f32[2]", "f32[2]"},
       "found 3 operands, but the `calls` computation `wrapped` has only 2 parameters",
       {},
       {kWrapped}},
      {"async-update",
       {"((f32[4]), ())", "f32[2]"},
       "((f32[4]{0}, f32[2]{0}), f32[6]{0})",
       {},
       {},
       "((f32[4], f32[2]), f32[6])"},
      {"async-update",
       {"((f32[4]), f32[6])"},
       "element 1 of the result is `f32[5]`, which does not continue `f32[6]` of `operand`",
       {},
       {},
       "((f32[4]), f32[5])"},
      {"async-done", {"((f32[4]), f32[6]{0}, u32[])"}, "f32[6]{0}"},
      {"async-done", {"((f32[4]), (), u32[])"}, "f32[6]{0}", {}, {}, "f32[6]"},
      {"async-done",
       {"((f32[4]), f32[6], u32[])"},
       "the result is `f32[5]`, but element 1 of `operand` is `f32[6]`",
       {},
       {},
       "f32[5]"},
      {"async-done",
       {"f32[4]"},
       "`operand` has shape `f32[4]`, expected a tuple of a tuple of operands, the result and "
       "contexts"},
  });
}

}  // namespace
}  // namespace hlo
