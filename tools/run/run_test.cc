// Directives, inputs, index limits, comparison and statistics of hlo-run.
#include <catch2/catch.hpp>

#include "parser/parse_test_util.h"
#include "parser/parser.h"
#include "tools/run/bench.h"
#include "tools/run/check_case.h"
#include "tools/run/compare_outputs.h"
#include "tools/run/inputs.h"
#include "tools/run/run_report.h"
#include "tools/support/input_demands.h"

namespace hlo {
namespace {

constexpr std::string_view kPair = R"(
ENTRY main {
  p = (f32[2], s32[]) parameter(0)
  x = f32[2] get-tuple-element(p), index=0
  y = f32[2] parameter(1)
  ROOT r = f32[2] add(x, y)
})";

}  // namespace

std::map<LeafKey, int64_t> LimitsOf(const Module& module) {
  std::map<LeafKey, int64_t> limits;
  for (const auto& [leaf, demand] : InputDemands(module)) {
    if (demand.index_limit) limits[leaf] = *demand.index_limit;
  }
  return limits;
}

TEST_CASE("literals of a text are read one after the other", "[run][inputs]") {
  const absl::StatusOr<std::vector<Literal>> literals = ParseLiterals(
      "f32[2] {1, 2}  // comment { \n(f32[], s32[2])\n ( 3, {4,\n 5} ) s32[] 7 f32[2]{0} {8, 9} # "
      "end");
  REQUIRE(literals.ok());
  REQUIRE(literals->size() == 4);
  CHECK((*literals)[1].element(1).GetInt(1) == 5);
  CHECK((*literals)[2].GetInt() == 7);
  CHECK((*literals)[3].GetDouble(1) == 9);
  CHECK_FALSE(ParseLiterals("f32[2] {1, 2, 3}").ok());
  CHECK_FALSE(ParseLiterals("f32[2]").ok());
}

TEST_CASE("arrays go to the leaves of the parameters in order", "[run][inputs]") {
  const auto module = ParsedModule(kPair);
  const auto make = [&module](std::vector<std::string> words) {
    return MakeArguments(*module, {std::move(words), "", "", {}});
  };
  const absl::StatusOr<Arguments> leaves = make({"f32[2] {1, 2}", "s32[] 3", "f32[2] {4, 5}"});
  REQUIRE(leaves.ok());
  REQUIRE(leaves->values.size() == 2);
  CHECK(leaves->values[0].element(1).GetInt() == 3);
  CHECK(leaves->values[1].GetDouble(1) == 5);
  CHECK(make({"(f32[2], s32[]) ({1, 2}, 3)", "f32[2] {4, 5}"})->values[0] == leaves->values[0]);

  CHECK(make({"f32[2] {1, 2}"}).status().message() ==
        "no input for parameter 0 `p{1}` of shape `s32[]`; got 1 of 3 arrays (--seed=N makes the "
        "missing ones)");
  CHECK(make({"f32[3] {1, 2, 3}"}).status().message() ==
        "argument `f32[3] {1, 2, 3}` for parameter 0 `p{0}`: expected `f32[2]`, found `f32[3]`");
  CHECK(make({"f32[2] {1, 2} s32[] 3 f32[2] {4, 5} s32[] 6"})
            .status()
            .message()
            .find("is one too many") != absl::string_view::npos);
}

TEST_CASE("random inputs are the same every time and differ by seed", "[run][inputs]") {
  const auto module = ParsedModule(kPair);
  const auto make = [&module](uint64_t seed) {
    return MakeArguments(*module, {{}, "", "", seed})->values;
  };
  CHECK(make(7) == make(7));
  CHECK_FALSE(make(7) == make(8));
}

TEST_CASE("indices are traced to parameters and limited", "[run][limits]") {
  const auto module = ParsedModule(R"(
wrap {
  ROOT i = s32[4,1] parameter(0)
}
ENTRY main {
  table = f32[10,3] parameter(0)
  ids = s32[4] parameter(1)
  t = (s32[], s32[2]) parameter(2)
  column = s32[4,1] reshape(ids)
  zero = s32[4,1] constant({{0},{0},{0},{0}})
  ten = s32[4,1] constant({{10},{10},{10},{10}})
  negative = pred[4,1] compare(column, zero), direction=LT
  moved = s32[4,1] add(column, ten)
  chosen = s32[4,1] select(negative, moved, column)
  called = s32[4,1] call(chosen), to_apply=wrap
  rows = f32[4,3] gather(table, called), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
  start = s32[] get-tuple-element(t), index=0
  c = s32[] constant(0)
  piece = f32[2,3] dynamic-slice(rows, start, c), dynamic_slice_sizes={2,3}
  ROOT r = (f32[2,3], s32[4]) tuple(piece, ids)
})");
  CHECK(LimitsOf(*module) == std::map<LeafKey, int64_t>{{{1, {}}, 9}, {{2, {0}}, 2}});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Literal> values = MakeArguments(*module, {{}, "", "", seed})->values;
    for (int i = 0; i < 4; ++i) CHECK((values[1].GetInt(i) >= 0 && values[1].GetInt(i) <= 9));
    CHECK((values[2].element(0).GetInt() >= 0 && values[2].element(0).GetInt() <= 2));
  }
}

TEST_CASE("indices are traced through scatter, loops and branches", "[run][limits]") {
  const auto module = ParsedModule(R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
cond { p = (s32[], s32[1,1], f32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)  ROOT lt = pred[] compare(i, n), direction=LT }
body {
  p = (s32[], s32[1,1], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  at = s32[1,1] get-tuple-element(p), index=1
  x = f32[8] get-tuple-element(p), index=2
  u = f32[1,3] constant({{1,1,1}})
  y = f32[8] scatter(x, at, u), update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  ROOT t = (s32[], s32[1,1], f32[8]) tuple(next, at, y)
}
ENTRY main {
  i = s32[] parameter(0)
  at = s32[1,1] parameter(1)
  x = f32[8] parameter(2)
  t = (s32[], s32[1,1], f32[8]) tuple(i, at, x)
  ROOT w = (s32[], s32[1,1], f32[8]) while(t), condition=cond, body=body
})");
  CHECK(LimitsOf(*module) == std::map<LeafKey, int64_t>{{{1, {}}, 5}});
}

TEST_CASE("made inputs are what their users need", "[run][demands]") {
  const auto module = ParsedModule(R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
least { a = s8[] parameter(0)  b = s8[] parameter(1)  ROOT s = s8[] minimum(a, b) }
ENTRY main {
  x = f32[4,4] parameter(0)
  y = f32[6] parameter(1)
  zero = f32[] parameter(2)
  t = (s8[], s8[5]) parameter(3)
  start = s8[] get-tuple-element(t), index=0
  bytes = s8[5] get-tuple-element(t), index=1
  flipped = f32[4,4] transpose(x), dimensions={1,0}
  both = f32[4,4] add(x, flipped)
  l = f32[4,4] cholesky(both), lower=true
  logs = f32[6] log(y)
  sum = f32[] reduce(logs, zero), dimensions={0}, to_apply=add
  smallest = s8[] reduce(bytes, start), dimensions={0}, to_apply=least
  ROOT r = (f32[4,4], f32[], s8[]) tuple(l, sum, smallest)
})");
  const std::vector<Literal> values = MakeArguments(*module, {{}, "", "", 7})->values;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      CHECK(values[0].GetDouble(4 * i + j) == values[0].GetDouble(4 * j + i));
      CHECK((i == j || values[0].GetDouble(4 * i + i) > 4 * values[0].GetDouble(4 * i + j)));
    }
  }
  for (int64_t i = 0; i < 6; ++i) CHECK(values[1].GetDouble(i) > 0);
  CHECK(values[2].GetDouble(0) == 0);
  CHECK(values[3].element(0).GetInt() == 127);
}

TEST_CASE("outputs are compared leaf by leaf with a tolerance of their type", "[run][compare]") {
  const auto value = [](std::string_view text) { return *ParseShapeAndLiteral(text); };
  const Literal expected = value("(f32[2], s32[]) ({1, 2}, 3)");
  CHECK(CompareOutputs(value("(f32[2], s32[]) ({1.00001, 2}, 3)"), expected, std::nullopt).ok);
  CHECK_FALSE(CompareOutputs(value("(f32[2], s32[]) ({1.00001, 2}, 3)"), expected, Tolerance{}).ok);
  CHECK_FALSE(CompareOutputs(value("(f32[2], s32[]) ({1.001, 2}, 3)"), expected, std::nullopt).ok);
  const Verdict verdict =
      CompareOutputs(value("(f32[2], s32[]) ({1, 2}, 4)"), expected, std::nullopt);
  CHECK_FALSE(verdict.ok);
  CHECK(verdict.report.find("output 0 f32[2]: all 2 elements agree") != std::string::npos);
  CHECK(verdict.report.find("output 1 s32[]: 1 of 1 elements differ") != std::string::npos);
  CHECK_FALSE(CompareOutputs(value("f32[2] {1, 2}"), expected, std::nullopt).ok);
}

TEST_CASE("directives say what to run and what to expect", "[run][check]") {
  const absl::StatusOr<CheckDirectives> directives = ParseDirectives(R"(
// ARG: f32[2] {1, 2}
// EXPECT: f32[2] {3,
//   4}
// ARG: f32[2] {5, 6}
// ARG: s32[] 1
// EXPECT: f32[] 7
// TOLERANCE: 1e-3 1e-4 2
// PLATFORMS: interpreter, cpu
// DENORMALS: keep
HloModule m)");
  REQUIRE(directives.ok());
  REQUIRE(directives->runs.size() == 2);
  CHECK(directives->runs[0].expected.at(-1) == "f32[2] {3, 4}");
  CHECK(directives->runs[1].arguments == std::vector<std::string>{"f32[2] {5, 6}", "s32[] 1"});
  CHECK(directives->tolerance.abs == 1e-3);
  CHECK(directives->tolerance.ulps == 2);
  CHECK(directives->platforms == std::vector<std::string>{"interpreter", "cpu"});
  CHECK(directives->denormals == Denormals::kKeep);
  const absl::StatusOr<CheckDirectives> devices = ParseDirectives(
      "// ARG: 1: f32[] 2\n// EXPECT: 0: f32[] 3\n// EXPECT: 1: f32[] 4\n"
      "// EXPECT: 0: f32[] 5\n// EXPECT: f32[] 6\n");
  REQUIRE(devices.ok());
  REQUIRE(devices->runs.size() == 3);
  CHECK(devices->runs[0].arguments == std::vector<std::string>{"1:f32[] 2"});
  CHECK(devices->runs[0].expected ==
        std::map<int64_t, std::string>{{0, "f32[] 3"}, {1, "f32[] 4"}});
  CHECK(devices->runs[1].expected == std::map<int64_t, std::string>{{0, "f32[] 5"}});
  CHECK(devices->runs[2].expected == std::map<int64_t, std::string>{{-1, "f32[] 6"}});
  CHECK(ParseDirectives("// EXPECT-ERROR: shape `f32[{`")->expected_error == "shape `f32[{`");
  CHECK_FALSE(ParseDirectives("// TOLERANCE: 1").ok());
  CHECK_FALSE(ParseDirectives("// TOLERANCE: a b").ok());
  CHECK_FALSE(ParseDirectives("// DENORMALS: maybe").ok());
}

TEST_CASE("run times are summarised", "[run][bench]") {
  const RunTimes times = Summarise({5, 1, 3, 2, 4, 6, 7, 8, 9, 10});
  CHECK(times.min == 1);
  CHECK(times.median == 5.5);
  CHECK(times.p90 == 9);
  CHECK(times.mean == 5.5);
  CHECK(times.iterations == 10);
  CHECK(times.p95 == 10);
  CHECK(times.p99 == 10);
  CHECK(times.max == 10);
  CHECK(std::abs(times.deviation - 3.0276503540974917) < 1e-12);
  CHECK(Summarise({4}).p90 == 4);
  CHECK(Summarise({4}).deviation == 0);
}

TEST_CASE("times have the unit that fits", "[run][bench]") {
  CHECK(TimeText(9.5741) == "9.574 ms");
  CHECK(TimeText(0.000312) == "312.0 ns");
  CHECK(TimeText(0.0512) == "51.20 us");
  CHECK(TimeText(61234) == "61.23 s");
  CHECK(TimeText(0) == "0 ms");
}

TEST_CASE("the JSON report has the documented fields", "[run][bench]") {
  RunReport report;
  report.parse_ms = 1.5;
  report.compile_ms = 20;
  report.run = {1, 2, 3, 3.5, 3.75, 4, 2.5, 0.5, 11};
  report.threads = 2;
  report.peak_bytes = 4096;
  CHECK(
      ToJson(report) ==
      R"({"schema":1,"stages_ms":{"parse":1.5,"verify":0,"passes":0,"codegen":0,"load":0},)"
      R"("codegen_ms":{"buffers":0,"kernels":0,"llvm":0,"link":0},"compile_ms":20,)"
      R"("inputs_ms":0,"outputs_ms":0,)"
      R"("run_ms":{"min":1,"median":2,"p90":3,"p95":3.5,"p99":3.75,"max":4,"mean":2.5,"stddev":0.5},"iterations":11,"interrupted":false,"threads":2,"peak_bytes":4096})"
      "\n");
}

}  // namespace hlo
