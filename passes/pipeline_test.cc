#include "passes/pipeline.h"

#include <catch2/catch.hpp>

#include "lib/support/diagnostic.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "passes/registry.h"

namespace hlo {
namespace {

TEST_CASE("a pipeline's text form parses back", "[passes][pipeline]") {
  for (const char* text :
       {"dce", "cse,dce", "fix(cse,dce)", "cse{layout_sensitive=true},fix(dce,fix(cse))",
        "constant_folding{level=aggressive,max_elements=5}", ""}) {
    const absl::StatusOr<Pipeline> pipeline = ParsePipeline(text);
    REQUIRE(pipeline.ok());
    CHECK(ToText(*pipeline) == text);
  }
}

TEST_CASE("errors in a pipeline carry their place", "[passes][pipeline]") {
  const std::pair<const char*, uint32_t> cases[] = {
      {"dce,nope", 4}, {"cse{x=1}", 4}, {"fix(dce", 7}, {"dce cse", 4}, {"fix dce", 4}};
  for (const auto& [text, offset] : cases) {
    const absl::Status status = ParsePipeline(text).status();
    CAPTURE(text);
    REQUIRE_FALSE(status.ok());
    CHECK(DiagnosticsOf(status).front().loc.offset == offset);
  }
}

TEST_CASE("every registered pass runs on a trivial module and tells the truth",
          "[passes][registry]") {
  for (const PassInfo& info : AllPasses()) {
    CAPTURE(info.name);
    const auto module = ParseModule(
        "HloModule m\nENTRY e {\n  x = f32[10] parameter(0)\n  ROOT n = f32[10] negate(x)\n}\n");
    REQUIRE(module.ok());
    PassContext context;
    Instrumentation instrumentation;
    instrumentation.check_changed_flag = true;
    const auto result = RunPipelineText(info.name, **module, context, instrumentation);
    CHECK(result.ok());
  }
}

TEST_CASE("the summary of a pass is one short line without a full stop", "[passes][registry]") {
  for (const PassInfo& info : AllPasses()) {
    CAPTURE(info.name);
    CHECK_FALSE(info.summary.empty());
    CHECK(info.summary.size() <= 90);
    CHECK(info.summary.back() != '.');
  }
}

TEST_CASE("a bisect limit skips the passes after it", "[passes][manager]") {
  const auto module = ParseModule(
      "HloModule m\nENTRY e {\n  x = f32[1] parameter(0)\n  d = f32[1] sine(x)\n  ROOT n = f32[1] "
      "negate(x)\n}\n");
  REQUIRE(module.ok());
  PassContext context;
  Instrumentation instrumentation;
  instrumentation.bisect_limit = 1;
  const auto result = RunPipelineText("cse,dce", **module, context, instrumentation);
  REQUIRE(result.ok());
  REQUIRE(result->runs.size() == 2);
  CHECK_FALSE(result->runs[0].skipped);
  CHECK(result->runs[1].skipped);
  CHECK((*module)->entry()->instruction_count() == 3);
}

}  // namespace
}  // namespace hlo
