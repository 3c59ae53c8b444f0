#include <catch2/catch.hpp>

#include "backends/cpu/families/kernel_test.h"
#include "lib/eval/scalar_ops.h"

namespace hlo::cpu {
namespace {

#define HLO_COUNT_NAME(Op, meaning) Opcode::k##Op,
constexpr Opcode kFloatUnary[] = {HLO_SCALAR_FLOAT_UNARY(HLO_COUNT_NAME)};
constexpr Opcode kFloatBinary[] = {HLO_SCALAR_FLOAT_BINARY(HLO_COUNT_NAME)};
constexpr Opcode kIntUnary[] = {HLO_SCALAR_INT_UNARY(HLO_COUNT_NAME)};
constexpr Opcode kIntBinary[] = {HLO_SCALAR_INT_BINARY(HLO_COUNT_NAME)};
constexpr Opcode kComplexUnary[] = {HLO_SCALAR_COMPLEX_UNARY(HLO_COUNT_NAME)};
constexpr Opcode kComplexBinary[] = {HLO_SCALAR_COMPLEX_BINARY(HLO_COUNT_NAME)};
#undef HLO_COUNT_NAME

// One fusion that applies every opcode of a list to the parameters, twice, so that the long ones
// are called; 13 elements, so that vectors and a rest run.
std::string All(ElementType type, absl::Span<const Opcode> unary, absl::Span<const Opcode> binary) {
  const std::string shape = fmt::format("{}[13]", Text(type));
  std::string body, results, names;
  int n = 0;
  const auto add = [&](std::string_view result, std::string_view text) {
    body += fmt::format("  v{} = {} {}\n", n, result, text);
    results += fmt::format("{}{}", n == 0 ? "" : ", ", result);
    names += fmt::format("{}v{}", n == 0 ? "" : ", ", n);
    ++n;
  };
  for (const char* operand : {"x", "y"}) {
    for (const Opcode op : unary) add(shape, fmt::format("{}({})", Text(op), operand));
  }
  for (const char* operands : {"x, y", "y, x"}) {
    for (const Opcode op : binary) add(shape, fmt::format("{}({})", Text(op), operands));
  }
  add("pred[13]", "compare(x, y), direction=NE");
  if (!IsComplex(type)) {
    add("pred[13]", "compare(x, y), direction=LE");
    add(shape, "clamp(y, x, x)");
  }
  if (IsFloat(type)) add("pred[13]", "is-finite(x)");
  if (IsFloat(type)) add(shape, "reduce-precision(x), exponent_bits=3, mantissa_bits=2");
  if (IsFloat(type)) add("pred[13]", "compare(x, y), direction=GT, type=TOTALORDER");
  add(shape, "select(p, x, y)");
  return fmt::format(R"(
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
}

TEST_CASE("every float opcode gives the interpreter's bits for every float type",
          "[cpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsFloat(type)) continue;
    CAPTURE(Text(type));
    CHECK(RunKernelCase({All(type, kFloatUnary, kFloatBinary)}) == "");
  }
}

TEST_CASE("every integer opcode gives the interpreter's bits for every integer type",
          "[cpu][elementwise]") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsInteger(type)) continue;
    CAPTURE(Text(type));
    std::vector<Opcode> unary(std::begin(kIntUnary), std::end(kIntUnary));
    if (IsUnsigned(type)) std::erase(unary, Opcode::kAbs);
    CHECK(RunKernelCase({All(type, unary, kIntBinary)}) == "");
  }
}

TEST_CASE("pred opcodes", "[cpu][elementwise]") {
  const Opcode unary[] = {Opcode::kNot};
  const Opcode binary[] = {Opcode::kAnd, Opcode::kOr, Opcode::kXor};
  CHECK(RunKernelCase({All(ElementType::kPred, unary, binary)}) == "");
}

TEST_CASE("complex opcodes", "[cpu][elementwise]") {
  CHECK(RunKernelCase({All(ElementType::kC64, kComplexUnary, kComplexBinary)}) == "");
  CHECK(RunKernelCase({All(ElementType::kC128, kComplexUnary, kComplexBinary)}) == "");
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
  const std::string hlo = All(ElementType::kF32, kFloatUnary, kFloatBinary);
  for (const int bytes : {4, 16, 32, 64}) {
    KernelCase test{hlo};
    test.options.vector_bytes = bytes;
    CAPTURE(bytes);
    CHECK(RunKernelCase(test) == "");
  }
}

}  // namespace
}  // namespace hlo::cpu
