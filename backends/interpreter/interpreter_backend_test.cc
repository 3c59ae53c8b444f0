#include "backends/interpreter/interpreter_backend.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"
#include "parser/parse_test_util.h"
#include "parser/parser.h"

namespace hlo {
namespace {

using Catch::Matchers::Contains;

constexpr std::string_view kSquare = R"(HloModule square
ENTRY main {
  x = f32[3] parameter(0)
  ROOT y = f32[3] multiply(x, x)
}
)";

Literal Value(std::string_view text) {
  auto literal = ParseLiteralWithShape(text);
  REQUIRE(literal.ok());
  return *std::move(literal);
}

TEST_CASE("a module runs once and again with prepared arguments", "[interpreter]") {
  const auto backend = MakeInterpreterBackend();
  auto executable = backend->Compile(ParsedModule(kSquare), {});
  REQUIRE(executable.ok());
  const Literal x = Value("f32[3] {1, -2, 3}");
  auto result = (*executable)->Run({x}, {});
  REQUIRE(result.ok());
  CHECK(result->ToString() == "{1, 4, 9}");
  auto prepared = (*executable)->Prepare({x}, {});
  REQUIRE(prepared.ok());
  for (int i = 0; i < 2; ++i) {
    REQUIRE((*prepared)->Run().ok());
    CHECK((*prepared)->Result()->ToString() == "{1, 4, 9}");
  }
}

TEST_CASE("arguments that do not fit are refused", "[interpreter]") {
  const auto backend = MakeInterpreterBackend();
  auto executable = backend->Compile(ParsedModule(kSquare), {});
  REQUIRE(executable.ok());
  const auto none = (*executable)->Run({}, {});
  CHECK_THAT(std::string(ToStd(none.status().message())),
             Contains("`main` takes 1 arguments, got 0"));
  const auto wrong = (*executable)->Run({Value("f32[2] {1, 2}")}, {});
  CHECK_THAT(std::string(ToStd(wrong.status().message())),
             Contains("argument 0 has shape `f32[2]`, but parameter `x` is `f32[3]`"));
}

TEST_CASE("the trace sees the values of the entry computation", "[interpreter]") {
  const auto backend = MakeInterpreterBackend();
  auto executable = backend->Compile(ParsedModule(kSquare), {});
  REQUIRE(executable.ok());
  std::string seen;
  RunOptions options;
  options.trace = [&](const Instruction& inst, const Literal& value) {
    seen += fmt::format("{} = {}", inst.name(), value.ToString());
  };
  REQUIRE((*executable)->Run({Value("f32[3] {1, -2, 3}")}, options).ok());
  CHECK(seen == "y = {1, 4, 9}");
}

TEST_CASE("the text of the module is emitted on request", "[interpreter]") {
  const auto backend = MakeInterpreterBackend();
  CompileOptions options;
  std::string text;
  options.emit = {EmitStage::kHlo};
  options.emit_sink = [&](EmitStage, std::string_view emitted) { text = emitted; };
  REQUIRE(backend->Compile(ParsedModule(kSquare), options).ok());
  CHECK_THAT(text, Contains("HloModule square"));
}

TEST_CASE("a device of several is refused without the others", "[interpreter]") {
  const auto backend = MakeInterpreterBackend();
  const auto executable = backend->Compile(
      ParsedModule(
          "HloModule m, num_partitions=8\nENTRY e {\n  ROOT i = u32[] partition-id()\n}\n"),
      {});
  REQUIRE(executable.ok());
  const auto result = (*executable)->Run({}, {});
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(std::string(ToStd(result.status().message())), Contains("runs on 8 devices"));
}

}  // namespace
}  // namespace hlo
