#include "lib/analysis/region.h"

#include <catch2/catch.hpp>

#include "lib/analysis/call_graph.h"
#include "lib/eval/evaluator.h"
#include "parser/parse_test_util.h"
#include "parser/parser.h"

namespace hlo {
namespace {

std::unique_ptr<Module> RegionModule(std::string_view type, std::string_view root) {
  return ParsedModule(
      fmt::format("HloModule m\nENTRY e {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
                  "  ROOT r = {0}[] {1}\n}}\n",
                  type, root));
}

TEST_CASE("a region is one operation on its two parameters", "[analysis][region]") {
  const auto operation = [](std::string_view root) {
    return OperationOf(*RegionModule("f32", root)->entry());
  };
  CHECK(operation("add(a, b)")->opcode == Opcode::kAdd);
  CHECK_FALSE(operation("subtract(a, b)")->swapped);
  CHECK(operation("subtract(b, a)")->swapped);
  CHECK_FALSE(operation("add(a, a)").has_value());
  CHECK_FALSE(operation("negate(a)").has_value());
  CHECK(CombinerOpcode(*RegionModule("f32", "maximum(b, a)")->entry()) == Opcode::kMaximum);
  CHECK_FALSE(CombinerOpcode(*RegionModule("f32", "subtract(a, b)")->entry()).has_value());
}

TEST_CASE("identities keep every bit of every value", "[analysis][region]") {
  for (const std::string_view type : {"f32", "s8", "u8", "pred", "c64", "bf16"}) {
    for (const std::string_view op :
         {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
      const ElementType element = *ElementTypeFromText(type);
      const Opcode opcode = *OpcodeFromText(op);
      const bool is_bits = op == "and" || op == "or" || op == "xor";
      if (is_bits && !IsInteger(element) && !IsPred(element)) continue;
      const std::optional<Literal> identity = IdentityOf(opcode, element);
      INFO(op << " " << type);
      CHECK(identity.has_value() == !(IsComplex(element) && (op == "maximum" || op == "minimum")));
      if (!identity || IsComplex(element)) continue;
      for (const double value : {0.0, -0.0, 1.0, 3.0}) {
        const Literal x = Literal::Scalar(element, value);
        const auto module = RegionModule(type, fmt::format("{}(a, b)", op));
        const absl::StatusOr<Literal> result = Evaluator().Run(*module, {*identity, x});
        REQUIRE(result.ok());
        CHECK(*result == x);
      }
    }
  }
}

TEST_CASE("what a region calls is embedded, too", "[analysis][call-graph]") {
  absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(R"(HloModule m
inner {
  i = f32[] parameter(0)
  ROOT n = f32[] negate(i)
}
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] call(b), to_apply=inner
  ROOT s = f32[] add(a, c)
}
lone {
  l = f32[] parameter(0)
  ROOT m = f32[] negate(l)
}
ENTRY e {
  x = f32[8] parameter(0)
  z = f32[] constant(0)
  r = f32[] reduce(x, z), dimensions={0}, to_apply=sum
  ROOT k = f32[] call(r), to_apply=inner
})");
  REQUIRE(parsed.ok());
  const Module& module = **parsed;
  CallGraph graph(module);
  const auto context = [&](std::string_view name) {
    return graph.ContextOf(*module.FindComputation(name));
  };
  CHECK(context("e") == CallContext::kControlFlow);
  CHECK(context("sum") == CallContext::kEmbedded);
  CHECK(context("inner") == CallContext::kBoth);
  CHECK(context("lone") == CallContext::kUnreached);
  CHECK(DirectContext(*module.FindComputation("inner")) == CallContext::kControlFlow);
  CHECK(DirectContext(*module.FindComputation("lone")) == CallContext::kControlFlow);
  CHECK(graph.IsFlat(module));  // the other call of inner is part of an operation
}

}  // namespace
}  // namespace hlo
