#include <catch2/catch.hpp>

#include "lib/ir/any_instruction.h"
#include "lib/ir/verifier.h"
#include "parser/parse_test_util.h"
#include "parser/parser.h"
#include "tools/reduce/edits.h"
#include "tools/reduce/failure.h"
#include "tools/reduce/steps.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

std::unique_ptr<Module> VerifiedModule(std::string_view text) {
  std::unique_ptr<Module> module = ParsedModule(text);
  REQUIRE(Verify(*module).ok());
  return module;
}

int64_t ElementsOf(const Module& module) {
  int64_t count = 0;
  for (const Instruction* instruction : AllInstructions(module)) {
    if (instruction->shape().IsArray()) count += instruction->shape().element_count();
  }
  return count;
}

TEST_CASE("a shell takes quoted words back", "[reduce][failure]") {
  CHECK(ShellQuoted("a/b-c_d.hlo") == "a/b-c_d.hlo");
  CHECK(ShellQuoted("a b") == "'a b'");
  CHECK(ShellQuoted("it's") == "'it'\\''s'");
  CHECK(ShellQuoted("") == "''");
  CHECK(ShellQuoted("--passes=a{b}") == "--passes='a{b}'");
}

TEST_CASE("removing a parameter takes what the configuration says about it along",
          "[reduce][edits]") {
  const auto module = VerifiedModule(R"(HloModule m, input_output_alias={ {}: (2, {}, may-alias) }
ENTRY main {
  a = f32[2] parameter(0)
  b = f32[3] parameter(1)
  c = f32[4] parameter(2)
  ROOT r = f32[4] negate(c)
})");
  RemoveUnusedParameters(*module);
  CHECK(module->entry()->parameter_count() == 1);
  REQUIRE(module->config().aliases.size() == 1);
  CHECK(module->config().aliases[0].parameter == 0);
  FitEntryLayout(*module);
  module->Sweep();
  CHECK(Verify(*module).ok());
}

TEST_CASE("a body takes the place of its caller", "[reduce][edits]") {
  const auto module = VerifiedModule(R"(HloModule m
f {
  p = f32[2] parameter(0)
  q = f32[2] parameter(1)
  n = f32[2] negate(q)
  ROOT s = f32[2] subtract(p, n)
}
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT c = f32[2] call(x, y), to_apply=f
})");
  Instruction* call = module->entry()->root();
  CHECK(SubstituteBody(call, call->to_apply(), call->operand_vector()));
  module->RemoveUnusedComputations();
  module->Sweep();
  CHECK(Verify(*module).ok());
  const Instruction* root = module->entry()->root();
  CHECK(root->opcode() == Opcode::kSubtract);
  CHECK(root->operand(0)->name() == "x");
  CHECK(root->operand(1)->operand(0)->name() == "y");
}

TEST_CASE("sizes shrink together, through shapes, slices and constants", "[reduce][shapes]") {
  auto module = VerifiedModule(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[12,40] parameter(0)
  w = f32[40,7] parameter(1)
  d = f32[12,7] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[7] constant({1,2,3,4,5,6,7})
  e = f32[12,7] broadcast(c), dimensions={1}
  f = f32[12,7] add(d, e)
  g = f32[84] reshape(f)
  h = f32[42] slice(g), slice={[0:84:2]}
  z = f32[] constant(0)
  r = f32[] reduce(h, z), dimensions={0}, to_apply=sum
  ROOT t = f32[12,7] custom-call(f), custom_call_target="keep"
})");
  const int64_t before = ElementsOf(*module);
  FailureOptions options;
  options.kind = FailureKind::kError;
  options.regex = "cannot handle";
  options.passes = "test-only-misbehave{how=error,opcode=custom-call}";
  absl::StatusOr<FailureTest> test = FailureTest::Make(options, nullptr);
  REQUIRE(test.ok());
  Reducer reducer(std::move(module), *test, {"-", 0, false});
  REQUIRE(reducer.AskFirst().shows_failure);
  CHECK(ShrinkShapes(reducer));
  CHECK(ElementsOf(reducer.best()) < before / 20);
  CHECK(Verify(reducer.best()).ok());
  // What is written is what was asked about.
  const absl::StatusOr<std::unique_ptr<Module>> read = ParseModule(reducer.best_text());
  REQUIRE(read.ok());
  CHECK(test->Ask(reducer.best_text()).shows_failure);
}

}  // namespace
}  // namespace hlo
