#include "lib/analysis/live_range.h"

#include <catch2/catch.hpp>

#include "lib/analysis/alias.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

// A module with its values and their ranges.
struct Ranged {
  explicit Ranged(std::string_view text) {
    module = ParsedModule(text);
    values.emplace(*module);
    ranges.emplace(*values);
  }
  ValueId Value(std::string_view name, size_t leaf = 0) const {
    const Instruction* found = module->FindInstruction(name);
    REQUIRE(found != nullptr);
    return values->Of(*found)[leaf];
  }
  bool Meet(std::string_view a, std::string_view b) const {
    return ranges->Of(Value(a)).Meets(ranges->Of(Value(b)));
  }
  std::unique_ptr<Module> module;
  std::optional<Values> values;
  std::optional<LiveRanges> ranges;
};

TEST_CASE("what a start reads is needed until its done", "[analysis][live-range]") {
  const Ranged r(R"(HloModule m, is_scheduled=true
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT ab = f32[] add(a, b)
}
ENTRY e {
  x = f32[8] parameter(0)
  n = f32[8] negate(x)
  s = f32[8] all-reduce-start(n), replica_groups={}, to_apply=sum
  m = f32[8] sine(x)
  d = f32[8] all-reduce-done(s)
  k = f32[8] cosine(m)
  ROOT t = (f32[8], f32[8]) tuple(d, k)
})");
  CHECK(r.Meet("n", "m"));  // the reduction may still read n
  CHECK_FALSE(r.Meet("n", "k"));
  CHECK(r.Value("s") == r.Value("d"));
}

TEST_CASE("an asynchronous computation runs at any time between start and done",
          "[analysis][live-range]") {
  const Ranged r(R"(HloModule m, is_scheduled=true
f {
  p = f32[8] parameter(0)
  i = f32[8] negate(p)
  ROOT o = f32[8] sine(i)
}
ENTRY e {
  x = f32[8] parameter(0)
  s = ((f32[8]), f32[8], s32[]) async-start(x), calls=f, async_execution_thread="other"
  m = f32[8] sine(x)
  d = f32[8] async-done(s)
  k = f32[8] cosine(m)
  ROOT t = (f32[8], f32[8]) tuple(d, k)
}, execution_thread="main"
)");
  CHECK(r.Value("o") == r.Value("d"));
  CHECK(r.Value("p") == r.Value("x"));
  CHECK(r.Meet("i", "m"));  // i is needed some time while m is made
  CHECK_FALSE(r.Meet("i", "k"));
}

TEST_CASE("loop states, branches and shared computations", "[analysis][live-range]") {
  const Ranged r(R"(HloModule m
twice {
  q = f32[8] parameter(0)
  ROOT q2 = f32[8] add(q, q)
}
cond {
  cp = (s32[], f32[8], f32[8]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(4)
  ROOT cl = pred[] compare(ci, cn), direction=LT
}
body {
  bp = (s32[], f32[8], f32[8]) parameter(0)
  bi = s32[] get-tuple-element(bp), index=0
  bx = f32[8] get-tuple-element(bp), index=1
  bk = f32[8] get-tuple-element(bp), index=2
  one = s32[] constant(1)
  bi2 = s32[] add(bi, one)
  bx2 = f32[8] add(bx, bk)
  ROOT bt = (s32[], f32[8], f32[8]) tuple(bi2, bx2, bk)
}
ENTRY e {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  a = f32[8] call(x), to_apply=twice
  b = f32[8] call(a), to_apply=twice
  init = (s32[], f32[8], f32[8]) tuple(zero, a, b)
  w = (s32[], f32[8], f32[8]) while(init), condition=cond, body=body
  ROOT y = f32[8] get-tuple-element(w), index=1
})");
  // Element 2 is handed on: it is b. Element 1 stands for a and the body's result.
  CHECK(r.Value("w", 2) == r.Value("b"));
  CHECK(r.Value("bk") == r.Value("b"));
  const ValueId state = r.Value("w", 1);
  const hlo::Value& value = (*r.values)[state];
  CHECK(value.kind == hlo::Value::Kind::kLoopState);
  CHECK(value.inputs == std::vector<ValueId>{r.Value("a"), r.Value("bx2")});
  CHECK(r.Value("y") == state);
  // Two calls give two values, and one computation's parameter stands for both arguments.
  CHECK(r.Value("a") != r.Value("b"));
  CHECK((*r.values)[r.Value("q")].inputs == std::vector<ValueId>{r.Value("x"), r.Value("a")});
  CHECK(r.Meet("bi2", "bx2"));
  const AliasSets sets(*r.values);
  CHECK(sets.SetOf(r.Value("bx2")) == sets.SetOf(r.Value("a")));
  CHECK(sets.SetOf(r.Value("w", 0)) != sets.SetOf(r.Value("w", 1)));
}

TEST_CASE("in place pairs", "[analysis][alias]") {
  const Ranged r(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
fused {
  fp = f32[8] parameter(0)
  fu = f32[2] parameter(1)
  fz = s32[] constant(0)
  ROOT fd = f32[8] dynamic-update-slice(fp, fu, fz)
}
ENTRY e {
  x = f32[8] parameter(0)
  u = f32[2] parameter(1)
  f = f32[8] fusion(x, u), kind=kLoop, calls=fused
  c = (f32[8], f32[2]) custom-call(f, u), custom_call_target="t", output_to_operand_aliasing={{1}: (1, {})}
  c0 = f32[8] get-tuple-element(c), index=0
  c1 = f32[2] get-tuple-element(c), index=1
  g = f32[8] divide(c0, x)
  ROOT t = (f32[8], f32[2]) tuple(g, c1)
})");
  const auto pairs = [&](std::string_view name) {
    return InPlacePairs(*r.module->FindInstruction(name));
  };
  CHECK(pairs("f") == std::vector<InPlacePair>{{0, 0, 0}});
  CHECK(pairs("c") == std::vector<InPlacePair>{{1, 0, 1, true}});
  CHECK(pairs("g") == std::vector<InPlacePair>{{0, 0, 0}, {1, 0, 0}});
  CHECK(pairs("t").empty());
  const AliasSets sets(*r.values);
  CHECK(sets.SetOf(r.Value("c1")) == sets.SetOf(r.Value("u")));
  CHECK(sets.SetOf(r.Value("g")) == sets.SetOf(r.Value("x")));  // of the entry
  CHECK(sets.SetOf(r.Value("f")) != sets.SetOf(r.Value("x")));
}

TEST_CASE("collectives that write over what they are given", "[analysis][alias]") {
  const Ranged r(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT ab = f32[] add(a, b)
}
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  zero = s32[] constant(0)
  at = (s32[]) tuple(zero)
  s = (f32[8], f32[8]) all-reduce-start(x, y), replica_groups={}, to_apply=sum
  d = (f32[8], f32[8]) all-reduce-done(s)
  p = f32[8] collective-permute(x, y, at, at), source_target_pairs={{0,1}}, slice_sizes={{4}}
  q = (f32[8], f32[8], u32[], u32[]) collective-permute-start(x, y, at, at), source_target_pairs={{0,1}}, slice_sizes={{4}}
  w = f32[8] collective-permute-done(q)
  v = f32[8] collective-permute(x), source_target_pairs={{0,1}}
  ROOT t = ((f32[8], f32[8]), f32[8], f32[8], f32[8]) tuple(d, p, w, v)
})");
  const auto pairs = [&](std::string_view name) {
    return InPlacePairs(*r.module->FindInstruction(name));
  };
  CHECK(pairs("s") == std::vector<InPlacePair>{{0, 0, 0}, {1, 0, 1}});
  CHECK(pairs("p") == std::vector<InPlacePair>{{1, 0, 0}});
  CHECK(pairs("q") == std::vector<InPlacePair>{{1, 0, 1}});
  CHECK(pairs("v").empty());
}

}  // namespace
}  // namespace hlo
