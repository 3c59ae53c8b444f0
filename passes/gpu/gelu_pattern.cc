#include "passes/gpu/gelu_pattern.h"

#include <cmath>

#include "lib/match/pattern.h"

namespace hlo {
namespace {

constexpr double kUnits = 128;

// The distance from 1 to the next number of a type.
double UnitOf(ElementType type) {
  if (type == ElementType::kF16) return std::ldexp(1, -10);
  if (type == ElementType::kBF16) return std::ldexp(1, -7);
  return std::ldexp(1, type == ElementType::kF64 ? -52 : -23);
}

// The value of a broadcast scalar constant; NaN of anything else.
double ScalarOf(const Instruction& x) {
  if (x.opcode() != Opcode::kBroadcast || !x.operand(0)->IsConstant()) return std::nan("");
  const Instruction& scalar = *x.operand(0);
  return scalar.shape().IsEffectiveScalar() && IsFloat(scalar.shape().element_type())
             ? scalar.literal().GetDouble()
             : std::nan("");
}

struct IsExactly {
  double value;
  bool operator()(const Instruction& x) const { return ScalarOf(x) == value; }
};
struct IsNear {
  double value;
  bool operator()(const Instruction& x) const {
    const double seen = ScalarOf(x);
    const double unit = UnitOf(x.shape().element_type());
    return std::abs(seen - value) < std::abs(seen + value) * kUnits * unit;
  }
};

// 0.5·(1 + tanh(sqrt(2/pi)·(x + 0.044715·x³)))
bool IsDistribution(const Instruction* y, Instruction* x) {
  const auto is = [](auto check) { return m::Broadcast().Where(check); };
  const auto square = m::Multiply(m::Same(&x), m::Same(&x)).OneUser();
  const auto cube = m::MultiplyAnyOrder(m::Same(&x), square).OneUser();
  const auto small = m::MultiplyAnyOrder(is(IsNear{0.044715}), cube).OneUser();
  const auto inner = m::AddAnyOrder(m::Same(&x), small).OneUser();
  const auto scaled = m::MultiplyAnyOrder(is(IsNear{std::sqrt(M_2_PI)}), inner).OneUser();
  const auto sum = m::AddAnyOrder(is(IsExactly{1}), m::Tanh(scaled).OneUser()).OneUser();
  return Match(y, m::MultiplyAnyOrder(is(IsExactly{0.5}), sum).OneUser());
}

}  // namespace

Instruction* GeluOf(const Instruction& multiply) {
  if (multiply.opcode() != Opcode::kMultiply) return nullptr;
  for (const int side : {0, 1}) {
    if (IsDistribution(multiply.operand(1 - side), multiply.operand(side)))
      return multiply.operand(side);
  }
  return nullptr;
}

}  // namespace hlo
