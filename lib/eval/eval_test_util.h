// Evaluating HLO text in tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/support/strings.h"
#include "parser/parser.h"

namespace hlo::eval_test {

inline std::unique_ptr<Module> Parse(std::string_view text) {
  auto module = ParseModule(text);
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  return *std::move(module);
}

inline std::vector<Literal> Literals(const std::vector<std::string>& texts) {
  std::vector<Literal> literals;
  for (const std::string& text : texts) {
    auto literal = ParseLiteralWithShape(text);
    INFO(text << ": " << literal.status().ToString());
    REQUIRE(literal.ok());
    literals.push_back(*std::move(literal));
  }
  return literals;
}

// "f32[2] {1, 2}", or "error: …".
inline std::string Eval(std::string_view text, const std::vector<std::string>& arguments = {},
                        EvalOptions options = {}) {
  const auto module = Parse(text);
  Evaluator evaluator(std::move(options));
  const auto result = evaluator.Run(*module, Literals(arguments));
  if (!result.ok()) return "error: " + std::string(ToStd(result.status().message()));
  return result->shape().ToString(/*with_layout=*/false) + " " + result->ToString();
}

// The entry computation around these instructions.
inline std::string Entry(std::string_view body, std::string_view regions = "") {
  return fmt::format("HloModule m\n\n{}\nENTRY main {{\n{}\n}}\n", regions, body);
}

inline constexpr std::string_view kAddF32 =
    "add_f32 {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT s = f32[] add(p, "
    "q)\n}\n";

}  // namespace hlo::eval_test
