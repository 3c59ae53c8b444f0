#include "passes/analyses.h"

#include <catch2/catch.hpp>

#include "lib/ir/builder.h"
#include "lib/support/strings.h"
#include "parser/parse_test_util.h"
#include "passes/pass_manager.h"

namespace hlo {
namespace {

// One pair for cse, one dead instruction for dce, a call.
constexpr std::string_view kPairAndDead = R"(HloModule m
f {
  a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a)
}
ENTRY e {
  x = f32[4] parameter(0)
  s = f32[4] sine(x)
  t = f32[4] sine(x)
  dead = f32[4] cosine(x)
  c = f32[4] call(s), to_apply=f
  ROOT r = f32[4] add(c, t)
}
)";

TEST_CASE("an analysis is made once as long as nothing changes", "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  Analyses analyses;
  SideEffects& effects = analyses.Get<SideEffects>(*module);
  CHECK(&analyses.Get<SideEffects>(*module) == &effects);
  CHECK(analyses.made() == 1);
  CHECK(analyses.Known() == "side-effects");
  analyses.Get<CallGraph>(*module);
  analyses.Forget(AnalysisSet::Of<SideEffects>());
  CHECK(analyses.Known() == "side-effects");
  analyses.Forget();
  CHECK(analyses.Known().empty());
}

TEST_CASE("another module finds nothing known", "[passes][analyses]") {
  const auto first = ParsedModule(kPairAndDead), second = ParsedModule(kPairAndDead);
  Analyses analyses;
  CHECK(analyses.Get<CallGraph>(*first).all().back() == first->entry());
  CHECK(analyses.Get<CallGraph>(*second).all().back() == second->entry());
}

TEST_CASE("a pass keeps what it declares, and everything when it changes nothing",
          "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  PassContext context;
  // cse makes both analyses and changes the module: the order of calls is made again for dce, and
  // once more after it.
  REQUIRE(RunPipelineText("cse,dce,cse", *module, context).ok());
  CHECK(context.analyses().made() == 4);
  CHECK(context.analyses().Known() == "call-graph, side-effects");
  const int64_t made = context.analyses().made();
  REQUIRE(RunPipelineText("cse,dce,cse,dce", *module, context).ok());
  CHECK(context.analyses().made() == made + 2);  // a new run knows nothing
}

TEST_CASE("an answer that a pass kept wrongly is found", "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  PassContext context;
  Instrumentation in;
  in.check_analyses = true;
  const absl::Status status =
      RunPipelineText("test-only-misbehave{how=stale opcode=add}", *module, context, in).status();
  REQUIRE_FALSE(status.ok());
  CHECK(std::string(ToStd(status.message())).find("computation `e` has a side effect now") !=
        std::string::npos);
}

TEST_CASE("a computation that was added makes the order of calls wrong", "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  Analyses analyses;
  analyses.Get<CallGraph>(*module);
  CHECK(analyses.FirstMistake(*module).empty());
  module->CloneComputation(*module->computations()[0], ".copy", /*deep=*/false);
  CHECK(analyses.FirstMistake(*module).starts_with("`call-graph`: "));
}

TEST_CASE("edges that were changed make paths and values wrong", "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  Instruction* const r = module->FindInstruction("r");
  Analyses paths, values;
  paths.Get<Reachabilities>(*module).AskAll(*module);
  values.Get<Values>(*module);
  CHECK(paths.FirstMistake(*module).empty());
  CHECK(values.FirstMistake(*module).empty());
  r->AddControlPredecessor(module->FindInstruction("dead"));
  CHECK(paths.FirstMistake(*module) == "`reachability`: computation `e` has other paths now");
  Instruction* const copy = r->parent()->Add(Opcode::kCopy, r->shape(), {r});
  r->parent()->set_root(copy);
  CHECK(values.FirstMistake(*module).starts_with("`values`: "));
}

TEST_CASE("what is made of another analysis goes with it", "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  Analyses analyses;
  const LiveRanges& ranges = analyses.Get<LiveRanges>(*module);
  CHECK(&analyses.Get<LiveRanges>(*module) == &ranges);
  CHECK(analyses.made() == 2);
  CHECK(analyses.Known() == "live-range, values");
  analyses.Get<AliasSets>(*module);
  CHECK(analyses.made() == 3);
  analyses.Forget(AnalysisSet::Of<LiveRanges, Values>());
  CHECK(analyses.Known() == "live-range, values");
  analyses.Forget(AnalysisSet::Of<LiveRanges>());
  CHECK(analyses.Known().empty());
}

TEST_CASE("what was kept of values and their times is compared", "[passes][analyses]") {
  const auto module = ParsedModule(kPairAndDead);
  Instruction* const r = module->FindInstruction("r");
  Analyses live, ranges, places;
  live.Get<Liveness>(*module);
  ranges.Get<LiveRanges>(*module);
  places.Get<AliasSets>(*module);
  for (const Analyses* known : {&live, &ranges, &places})
    CHECK(known->FirstMistake(*module).empty());
  module->config().aliases.push_back({.parameter = 0});
  CHECK(places.FirstMistake(*module) == "`alias`: value `r` has another place now");
  r->ReplaceOperand(1, r->operand(0));
  CHECK(ranges.FirstMistake(*module).starts_with("`live-range`: value `"));
  CHECK(live.FirstMistake(*module) == "`liveness`: other leaves of `t` are needed now");
}

TEST_CASE("side effects are found through any number of calls", "[analysis][side-effects]") {
  constexpr int kDepth = 200'000;
  Module module("deep");
  Computation* callee = module.AddComputation("c");
  Instruction* token = callee->Add(Opcode::kAfterAll, Shape::Token());
  Computation* innermost = callee;
  for (int i = 0; i < kDepth; ++i) {
    Computation* caller = module.AddComputation("c");
    caller->Add(Opcode::kCall, Shape::Token(), {}, AttrsPtr::Make(CallAttrs{}), {callee});
    callee = caller;
  }
  CHECK_FALSE(SideEffects().Of(*callee));
  innermost->Add(Opcode::kOutfeed, Shape::Token(), {token, token},
                 AttrsPtr::Make(OutfeedAttrs{Shape::Token(), {}}));
  CHECK(SideEffects().Of(*callee));
}

}  // namespace
}  // namespace hlo
