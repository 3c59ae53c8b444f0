#include <catch2/catch.hpp>

#include "backends/codegen/test_programs.h"
#include "backends/cpu/families/kernel_test.h"

namespace hlo::cpu {
namespace {

// Every opcode of a list, twice, so that the long ones are called.
std::string All(ElementType type, absl::Span<const Opcode> unary, absl::Span<const Opcode> binary) {
  ManyValues values(type);
  for (const char* operand : {"x", "y"}) values.AddOps(unary, operand);
  for (const char* operands : {"x, y", "y, x"}) values.AddOps(binary, operands);
  values.AddOthers();
  return values.ModuleText();
}

TEST_CASE("every float opcode gives the interpreter's bits for every float type",
          "[cpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsFloat(type)) continue;
    CAPTURE(Text(type));
    CHECK(RunKernelCase({All(type, kFloatUnaryOps, kFloatBinaryOps)}) == "");
  }
}

TEST_CASE("every integer opcode gives the interpreter's bits for every integer type",
          "[cpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsInteger(type)) continue;
    CAPTURE(Text(type));
    std::vector<Opcode> unary(std::begin(kIntUnaryOps), std::end(kIntUnaryOps));
    if (IsUnsigned(type)) std::erase(unary, Opcode::kAbs);
    CHECK(RunKernelCase({All(type, unary, kIntBinaryOps)}) == "");
  }
}

TEST_CASE("pred opcodes", "[cpu][elementwise]") {
  const Opcode unary[] = {Opcode::kNot};
  const Opcode binary[] = {Opcode::kAnd, Opcode::kOr, Opcode::kXor};
  CHECK(RunKernelCase({All(ElementType::kPred, unary, binary)}) == "");
}

TEST_CASE("complex opcodes", "[cpu][elementwise]") {
  CHECK(RunKernelCase({All(ElementType::kC64, kComplexUnaryOps, kComplexBinaryOps)}) == "");
  CHECK(RunKernelCase({All(ElementType::kC128, kComplexUnaryOps, kComplexBinaryOps)}) == "");
}

TEST_CASE("conversions between all pairs of types", "[cpu][elementwise]") {
  for (int from = 0; from < kElementTypeCount; ++from) {
    const auto source = static_cast<ElementType>(from);
    if (!IsArrayType(source)) continue;
    std::string body, results, names;
    for (int to = 0; to < kElementTypeCount; ++to) {
      const auto target = static_cast<ElementType>(to);
      if (!IsArrayType(target) || (IsComplex(source) && !IsComplex(target))) continue;
      body += fmt::format("  v{} = {}[13] convert(x)\n", to, Text(target));
      results += fmt::format("{}{}[13]", results.empty() ? "" : ", ", Text(target));
      names += fmt::format("{}v{}", names.empty() ? "" : ", ", to);
    }
    CAPTURE(Text(source));
    CHECK(RunKernelCase({fmt::format(R"(
HloModule m
f {{
  x = {0}[13] parameter(0)
{1}  ROOT t = ({2}) tuple({3})
}}
ENTRY main {{
  x = {0}[13] parameter(0)
  ROOT r = ({2}) fusion(x), kind=kLoop, calls=f
}})",
                                     Text(source), body, results, names)}) == "");
  }
}

TEST_CASE("any vector width gives the same bits", "[cpu][elementwise]") {
  const std::string hlo = All(ElementType::kF32, kFloatUnaryOps, kFloatBinaryOps);
  for (const int bytes : {4, 16, 32, 64}) {
    KernelCase test{hlo};
    test.options.vector_bytes = bytes;
    CAPTURE(bytes);
    CHECK(RunKernelCase(test) == "");
  }
}

}  // namespace
}  // namespace hlo::cpu
