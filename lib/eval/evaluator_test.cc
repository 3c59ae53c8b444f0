#include "lib/eval/evaluator.h"

#include <set>

#include "lib/eval/device_group.h"
#include "lib/eval/eval_test_util.h"

namespace hlo {
namespace {

using Catch::Matchers::Contains;
using eval_test::Entry;
using eval_test::Eval;
using eval_test::kAddF32;
using eval_test::Literals;
using eval_test::Parse;

constexpr std::string_view kFillLoop = R"(HloModule fill
below {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(1000)
  ROOT c = pred[] compare(i, n), direction=LT
}
step {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[1000] get-tuple-element(s), index=1
  v = f32[] convert(i)
  u = f32[1] reshape(v)
  b = f32[1000] dynamic-update-slice(a, u, i)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[1000]) tuple(j, b)
}
ENTRY main {
  zero = s32[] constant(0)
  z = f32[] constant(0)
  a = f32[1000] broadcast(z), dimensions={}
  init = (s32[], f32[1000]) tuple(zero, a)
  w = (s32[], f32[1000]) while(init), condition=below, body=step
  ROOT r = f32[1000] get-tuple-element(w), index=1
}
)";

TEST_CASE("a loop updates its array in place", "[eval][memory]") {
  const auto module = Parse(kFillLoop);
  std::set<const uint8_t*> buffers;
  EvalOptions options;
  options.hook = [&](const Instruction& inst, const Literal& value) {
    if (inst.opcode() == Opcode::kDynamicUpdateSlice) buffers.insert(value.data());
  };
  Evaluator evaluator(options);
  const auto result = evaluator.Run(*module, absl::Span<const Literal>());
  REQUIRE(result.ok());
  CHECK(result->GetDouble(0) == 0);
  CHECK(result->GetDouble(999) == 999);
  CHECK(buffers.size() == 1);
}

TEST_CASE("arguments of the caller are never written", "[eval][memory]") {
  const auto module = Parse(Entry(R"(x = f32[3] parameter(0)
  u = f32[1] parameter(1)
  i = s32[] constant(1)
  ROOT r = f32[3] dynamic-update-slice(x, u, i))"));
  const std::vector<Literal> arguments = Literals({"f32[3] {1, 2, 3}", "f32[1] {9}"});
  Evaluator evaluator;
  REQUIRE(evaluator.Run(*module, arguments).ok());
  CHECK(arguments[0].ToString() == "{1, 2, 3}");
}

TEST_CASE("limits on work and on iterations end a run", "[eval][limits]") {
  EvalOptions work;
  work.max_work = 100;
  CHECK_THAT(Eval(kFillLoop, {}, work), Contains("more than 100 element operations"));
  EvalOptions loops;
  loops.max_loop_iterations = 10;
  CHECK_THAT(Eval(kFillLoop, {}, loops), Contains("`w` runs more than 10 iterations"));
}

TEST_CASE("an elided constant is refused by name", "[eval][errors]") {
  CHECK_THAT(Eval(Entry("c = f32[100] constant({...})\n  ROOT r = f32[100] negate(c)")),
             Contains("constant `c` has no values in this text ({...})"));
}

TEST_CASE("what needs a host or an unknown library is refused by name", "[eval][errors]") {
  CHECK_THAT(Eval(Entry("t = token[] after-all()\n  i = (f32[2], token[]) infeed(t)\n"
                        "  ROOT r = f32[2] get-tuple-element(i), index=0")),
             Contains("`infeed` needs a host"));
  CHECK_THAT(Eval(Entry("x = f32[2] constant({1, 2})\n  ROOT r = f32[2] custom-call(x), "
                        "custom_call_target=\"lapack_sgetrf\"")),
             Contains("no implementation of custom call `lapack_sgetrf`"));
  CHECK_THAT(Eval(Entry("x = s32[2] constant({1, 2})\n  ROOT r = s32[2] tanh(x)")),
             Contains("error"));
}

TEST_CASE("dead instructions do not run", "[eval]") {
  CHECK(Eval(Entry(
            "x = f32[] constant(1)\n  dead = f32[] custom-call(x), custom_call_target=\"nobody\"\n"
            "  ROOT r = f32[] negate(x)")) == "f32[] -1");
}

TEST_CASE("random numbers repeat with the seed and change without", "[eval][rng]") {
  const std::string text = Entry(
      "a = f32[] constant(-1)\n  b = f32[] constant(1)\n"
      "  ROOT r = f32[8] rng(a, b), distribution=rng_uniform");
  EvalOptions other;
  other.seed = 43;
  CHECK(Eval(text) == Eval(text));
  CHECK(Eval(text) != Eval(text, {}, other));
}

TEST_CASE("normal numbers have the asked mean and deviation", "[eval][rng]") {
  const auto module =
      Parse(Entry("a = f64[] constant(5)\n  b = f64[] constant(2)\n"
                  "  ROOT r = f64[20000] rng(a, b), distribution=rng_normal"));
  Evaluator evaluator;
  const auto result = evaluator.Run(*module, absl::Span<const Literal>());
  REQUIRE(result.ok());
  double sum = 0, squares = 0;
  for (double v : result->values<double>()) {
    sum += v;
    squares += v * v;
  }
  const double mean = sum / 20000, variance = squares / 20000 - mean * mean;
  CHECK(mean == Approx(5).margin(0.05));
  CHECK(variance == Approx(4).margin(0.15));
}

TEST_CASE("denormals follow the mode", "[eval][denormals]") {
  const std::string text = Entry(
      "x = f32[] constant(1e-40)\n  one = f32[] constant(1)\n  ROOT r = f32[] multiply(x, one)");
  EvalOptions flush;
  flush.denormals = Denormals::kFlush;
  CHECK(Eval(text) == "f32[] 9.99995e-41");
  CHECK(Eval(text, {}, flush) == "f32[] 0");
}

TEST_CASE("devices meet at collectives", "[eval][devices]") {
  const auto module = Parse("HloModule m, replica_count=4\n\n" + std::string(kAddF32) + R"(
ENTRY main {
  x = f32[2] parameter(0)
  sum = f32[2] all-reduce(x), replica_groups={{0,2},{1,3}}, to_apply=add_f32
  p = f32[2] collective-permute(sum), source_target_pairs={{0,1},{1,0}}
  ROOT t = (f32[2], f32[2]) tuple(sum, p)
})");
  std::vector<std::vector<Literal>> arguments;
  for (int d = 0; d < 4; ++d) arguments.push_back(Literals({fmt::format("f32[2] {{{}, 1}}", d)}));
  const auto results = EvaluateOnDevices(*module, arguments, EvalOptions());
  REQUIRE(results.ok());
  CHECK((*results)[0].ToString() == "( {2, 2}, {4, 2} )");
  CHECK((*results)[1].ToString() == "( {4, 2}, {2, 2} )");
  CHECK((*results)[3].ToString() == "( {4, 2}, {0, 0} )");
}

TEST_CASE("a device that fails does not leave the others waiting", "[eval][devices]") {
  const auto module = Parse("HloModule m, replica_count=2\n\n" + std::string(kAddF32) + R"(
fails {
  x = f32[2] parameter(0)
  ROOT r = f32[2] custom-call(x), custom_call_target="nobody"
}
meets {
  x = f32[2] parameter(0)
  ROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=add_f32
}
ENTRY main {
  x = f32[2] parameter(0)
  id = u32[] replica-id()
  i = s32[] convert(id)
  ROOT r = f32[2] conditional(i, x, x), branch_computations={meets, fails}
})");
  const auto x = Literals({"f32[2] {1, 2}"});
  const auto results = EvaluateOnDevices(*module, {x, x}, EvalOptions());
  REQUIRE_FALSE(results.ok());
  CHECK_THAT(std::string(ToStd(results.status().message())), Contains("nobody"));
}

}  // namespace
}  // namespace hlo
