// Every elementwise opcode in every element type on the simulated GPU: the bits of the interpreter.
#include <catch2/catch.hpp>

#include "absl/types/span.h"
#include "backends/gpu/run_case.h"
#include "lib/eval/scalar_ops.h"
#include "lib/types/element_type.h"

namespace hlo::gpu {
namespace {

#define HLO_OPCODE_OF(Op, meaning) Opcode::k##Op,
constexpr Opcode kUnaryOfFloats[] = {HLO_SCALAR_FLOAT_UNARY(HLO_OPCODE_OF)};
constexpr Opcode kBinaryOfFloats[] = {HLO_SCALAR_FLOAT_BINARY(HLO_OPCODE_OF)};
constexpr Opcode kUnaryOfInts[] = {HLO_SCALAR_INT_UNARY(HLO_OPCODE_OF)};
constexpr Opcode kBinaryOfInts[] = {HLO_SCALAR_INT_BINARY(HLO_OPCODE_OF)};
constexpr Opcode kUnaryOfComplex[] = {HLO_SCALAR_COMPLEX_UNARY(HLO_OPCODE_OF)};
constexpr Opcode kBinaryOfComplex[] = {HLO_SCALAR_COMPLEX_BINARY(HLO_OPCODE_OF)};
#undef HLO_OPCODE_OF

// One fusion that applies the opcodes to its parameters; 13 elements, so that vectors and a rest
// run.
std::string Fusion(ElementType type, absl::Span<const Opcode> unary,
                   absl::Span<const Opcode> binary) {
  const std::string shape = fmt::format("{}[13]", Text(type));
  std::string body, results, names;
  int n = 0;
  const auto add = [&](std::string_view result, std::string_view text) {
    body += fmt::format("  v{} = {} {}\n", n, result, text);
    results += fmt::format("{}{}", n == 0 ? "" : ", ", result);
    names += fmt::format("{}v{}", n == 0 ? "" : ", ", n);
    ++n;
  };
  for (const Opcode op : unary) add(shape, fmt::format("{}(x)", Text(op)));
  for (const Opcode op : binary) add(shape, fmt::format("{}(x, y)", Text(op)));
  add("pred[13]", "compare(x, y), direction=NE");
  if (!IsComplex(type)) {
    add("pred[13]", "compare(x, y), direction=LE");
    add(shape, "clamp(y, x, x)");
  }
  if (IsFloat(type)) add("pred[13]", "is-finite(x)");
  if (IsFloat(type)) add(shape, "reduce-precision(x), exponent_bits=3, mantissa_bits=2");
  add(shape, "select(p, x, y)");
  add("f32[13]", IsComplex(type) ? "real(v0)" : "convert(x)");
  add("s8[13]", IsComplex(type) ? "convert(p)" : "convert(y)");
  add("bf16[13]", IsComplex(type) ? "convert(p)" : "convert(y)");
  std::string text = fmt::format(R"(
HloModule m
f {{
  x = {0} parameter(0)
  y = {0} parameter(1)
  p = pred[13] parameter(2)
{1}  ROOT t = ({2}) tuple({3})
}}
ENTRY main {{
  x = {0} parameter(0)
  y = {0} parameter(1)
  p = pred[13] parameter(2)
  ROOT r = ({2}) fusion(x, y, p), kind=kLoop, calls=f
}})",
                                 shape, body, results, names);
  // The real part of a c128 is an f64.
  if (type == ElementType::kC128) {
    for (size_t at; (at = text.find("f32[13]")) != std::string::npos;)
      text.replace(at, 7, "f64[13]");
  }
  return text;
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
    CHECK(RunFusion(type, kUnaryOfFloats, kBinaryOfFloats) == "");
  }
}

TEST_CASE("integer opcodes give the interpreter's bits for every integer type",
          "[gpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsInteger(type)) continue;
    CAPTURE(Text(type));
    std::vector<Opcode> unary(std::begin(kUnaryOfInts), std::end(kUnaryOfInts));
    if (IsUnsigned(type)) std::erase(unary, Opcode::kAbs);
    CHECK(RunFusion(type, unary, kBinaryOfInts) == "");
  }
}

TEST_CASE("complex opcodes give the interpreter's bits", "[gpu][elementwise]") {
  for (const ElementType type : {ElementType::kC64, ElementType::kC128}) {
    CAPTURE(Text(type));
    CHECK(RunFusion(type, kUnaryOfComplex, kBinaryOfComplex) == "");
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
