#include "backends/registry.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"
#include "parser/parse_test_util.h"
#include "passes/pipelines.h"

namespace hlo {
namespace {

TEST_CASE("platforms are found by name and by alias", "[backends][registry]") {
  const auto interpreter = FindBackend("interpreter");
  REQUIRE(interpreter.ok());
  CHECK((*interpreter)->name() == "interpreter");
  CHECK(*FindBackend("Interpreter") == *interpreter);
}

TEST_CASE("every row of the table makes a back end of its name", "[backends][registry]") {
  REQUIRE(AllBackends().size() >= 1);
  for (const PlatformInfo& info : AllBackends()) {
    const auto backend = FindBackend(info.name);
    REQUIRE(backend.ok());
    CHECK((*backend)->name() == info.name);
  }
}

TEST_CASE("platforms have the stages and pipelines that the table says", "[backends][registry]") {
  for (const PlatformInfo& info : AllBackends()) {
    CAPTURE(info.name);
    CHECK((info.pipeline.empty() || FindPipeline(info.pipeline) != nullptr));
    for (const StageWord& stage : kStageWords) {
      if (NeedsNvidiaTools(stage.stage)) continue;
      CAPTURE(stage.word);
      bool is_shown = false;
      CompileOptions options;
      options.emit = {stage.stage};
      options.emit_sink = [&](EmitStage, std::string_view) { is_shown = true; };
      const auto module = ParsedModule(
          "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] negate(x) }");
      CHECK((*FindBackend(info.name))->Compile(module->Clone(), options).ok());
      CHECK(is_shown == IsListed(info.stages, stage.word));
    }
  }
}

TEST_CASE("an unknown platform is named with the close one and the list", "[backends][registry]") {
  const auto missing = FindBackend("interpeter");
  REQUIRE_FALSE(missing.ok());
  const std::string message(ToStd(missing.status().message()));
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "unknown platform `interpeter`; did you mean `interpreter`?"));
  CHECK_THAT(message, Catch::Matchers::Contains("there are interpreter"));
}

}  // namespace
}  // namespace hlo
