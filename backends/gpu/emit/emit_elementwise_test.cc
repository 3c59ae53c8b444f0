// Every elementwise opcode in every element type on the simulated GPU: the bits of the interpreter.
#include <catch2/catch.hpp>

#include "backends/codegen/test_programs.h"
#include "backends/gpu/run_case.h"

namespace hlo::gpu {
namespace {

std::string Fusion(ElementType type, absl::Span<const Opcode> unary,
                   absl::Span<const Opcode> binary) {
  ManyValues values(type);
  values.AddOps(unary, "x");
  values.AddOps(binary, "x, y");
  values.AddOthers();
  values.Add(type == ElementType::kC128 ? "f64" : "f32",
             IsComplex(type) ? "real(v0)" : "convert(x)");
  values.Add("s8", IsComplex(type) ? "convert(p)" : "convert(y)");
  values.Add("bf16", IsComplex(type) ? "convert(p)" : "convert(y)");
  return values.ModuleText();
}

// Assembling all opcodes takes seconds: one type of each kind.
std::string RunFusion(ElementType type, absl::Span<const Opcode> unary,
                      absl::Span<const Opcode> binary) {
  const std::string text = Fusion(type, unary, binary);
  GpuCase test{text};
  test.assemble = type == ElementType::kBF16 || type == ElementType::kS32;
  return RunGpuCase(test);
}

TEST_CASE("float opcodes give the interpreter's bits for every float type", "[gpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsFloat(type)) continue;
    CAPTURE(Text(type));
    CHECK(RunFusion(type, kFloatUnaryOps, kFloatBinaryOps) == "");
  }
}

TEST_CASE("integer opcodes give the interpreter's bits for every integer type",
          "[gpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsInteger(type)) continue;
    CAPTURE(Text(type));
    std::vector<Opcode> unary(std::begin(kIntUnaryOps), std::end(kIntUnaryOps));
    if (IsUnsigned(type)) std::erase(unary, Opcode::kAbs);
    CHECK(RunFusion(type, unary, kIntBinaryOps) == "");
  }
}

TEST_CASE("complex opcodes give the interpreter's bits", "[gpu][elementwise]") {
  for (const ElementType type : {ElementType::kC64, ElementType::kC128}) {
    CAPTURE(Text(type));
    CHECK(RunFusion(type, kComplexUnaryOps, kComplexBinaryOps) == "");
  }
}

TEST_CASE("the smaller and the larger of zeros, infinities and NaN by one instruction",
          "[gpu][elementwise]") {
  constexpr std::string_view kText = R"(
HloModule m
ENTRY main {
  x = f32[9] constant({nan, 1, nan, 0, -0.0, -0.0, inf, -inf, 2})
  y = f32[9] constant({1, nan, nan, -0.0, 0, -0.0, -inf, inf, 3})
  low = f32[9] minimum(x, y)
  high = f32[9] maximum(x, y)
  zeros = f32[9] constant({0, 0, 0, -0.0, 0, nan, 0, 0, -0.0})
  between = f32[9] clamp(y, zeros, x)
  ROOT t = (f32[9], f32[9], f32[9]) tuple(low, high, between)
})";
  CHECK(RunGpuCase({kText}) == "");
  const std::string ptx = PtxOf(kText);
  CHECK_THAT(ptx, Catch::Matchers::Contains("max.NaN.f32"));
  CHECK_THAT(ptx, Catch::Matchers::Contains("min.NaN.f32"));
}

TEST_CASE("arrays of odd sizes in every width of element", "[gpu][loop]") {
  for (const char* type : {"f32", "f64", "bf16", "s8", "pred", "c64", "c128", "u16"}) {
    for (const int size : {1, 2, 7, 31, 128, 129, 1021}) {
      CAPTURE(type, size);
      const std::string op = std::string_view(type) == "pred" ? "xor" : "subtract";
      const std::string text = fmt::format(R"(
HloModule m
ENTRY main {{
  x = {0}[{1}] parameter(0)
  y = {0}[{1}] parameter(1)
  ROOT r = {0}[{1}] {2}(x, y)
}})",
                                           type, size, op);
      GpuCase test{text};
      test.assemble = size == 129;
      CHECK(RunGpuCase(test) == "");
    }
  }
}

}  // namespace
}  // namespace hlo::gpu
