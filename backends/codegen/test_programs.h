// Texts of programs that the tests of more than one platform run.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "lib/eval/scalar_ops.h"
#include "lib/ops/ops.h"
#include "lib/types/element_type.h"

namespace hlo {

// The head of a module with regions of reductions: `add`, `max`, `addi` (s32), and `argmax` of f32
// values and their s32 places.
inline constexpr std::string_view kModuleWithReducers = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
addi { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b) }
argmax {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  tie = pred[] and(eq, lt)
  take = pred[] or(gt, tie)
  v = f32[] select(take, a, b)
  k = s32[] select(take, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k)
}
)";

#define HLO_OPCODE_OF(Op, meaning) Opcode::k##Op,
inline constexpr Opcode kFloatUnaryOps[] = {HLO_SCALAR_FLOAT_UNARY(HLO_OPCODE_OF)};
inline constexpr Opcode kFloatBinaryOps[] = {HLO_SCALAR_FLOAT_BINARY(HLO_OPCODE_OF)};
inline constexpr Opcode kIntUnaryOps[] = {HLO_SCALAR_INT_UNARY(HLO_OPCODE_OF)};
inline constexpr Opcode kIntBinaryOps[] = {HLO_SCALAR_INT_BINARY(HLO_OPCODE_OF)};
inline constexpr Opcode kComplexUnaryOps[] = {HLO_SCALAR_COMPLEX_UNARY(HLO_OPCODE_OF)};
inline constexpr Opcode kComplexBinaryOps[] = {HLO_SCALAR_COMPLEX_BINARY(HLO_OPCODE_OF)};
#undef HLO_OPCODE_OF

// A module whose entry is one fusion that yields many values of its parameters `x` and `y`, of one
// type, and `p`, pred; all have 13 elements, so that vectors and a rest run.
class ManyValues {
 public:
  explicit ManyValues(ElementType type) : type_(type) {}

  // `operation` is what stands after the shape: "add(x, y)".
  void Add(std::string_view element_type, std::string_view operation) {
    const std::string shape = fmt::format("{}[13]", element_type);
    const std::string_view comma = count_ == 0 ? "" : ", ";
    body_ += fmt::format("  v{} = {} {}\n", count_, shape, operation);
    shapes_ += fmt::format("{}{}", comma, shape);
    names_ += fmt::format("{}v{}", comma, count_);
    ++count_;
  }
  // Opcodes with a result of the parameters' type.
  void AddOps(absl::Span<const Opcode> ops, std::string_view operands) {
    for (const Opcode op : ops) Add(Text(type_), fmt::format("{}({})", Text(op), operands));
  }
  // Comparisons, choices, and what else depends on the type.
  void AddOthers() {
    Add("pred", "compare(x, y), direction=NE");
    if (!IsComplex(type_)) Add("pred", "compare(x, y), direction=LE");
    if (!IsComplex(type_)) Add(Text(type_), "clamp(y, x, x)");
    if (IsFloat(type_)) Add("pred", "is-finite(x)");
    if (IsFloat(type_)) Add(Text(type_), "reduce-precision(x), exponent_bits=3, mantissa_bits=2");
    if (IsFloat(type_)) Add("pred", "compare(x, y), direction=GT, type=TOTALORDER");
    Add(Text(type_), "select(p, x, y)");
  }

  std::string ModuleText() const {
    constexpr std::string_view kParameters =
        "  x = {0}[13] parameter(0)\n  y = {0}[13] parameter(1)\n  p = pred[13] parameter(2)\n";
    const std::string parameters = fmt::format(kParameters, Text(type_));
    return fmt::format(
        "HloModule m\nf {{\n{0}{1}  ROOT t = ({2}) tuple({3})\n}}\nENTRY main {{\n{0}"
        "  ROOT r = ({2}) fusion(x, y, p), kind=kLoop, calls=f\n}}",
        parameters, body_, shapes_, names_);
  }

 private:
  ElementType type_;
  std::string body_, shapes_, names_;
  int count_ = 0;
};

}  // namespace hlo
