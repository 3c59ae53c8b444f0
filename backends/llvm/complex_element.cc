// Arithmetic on complex numbers as LLVM code; a file of its own because its templates take long to
// compile.
#include "backends/llvm/value.h"
//
#include "backends/llvm/element.h"

namespace hlo {
namespace {

template <class T>
Emitted Apply(llvm::IRBuilderBase& b, Opcode op, absl::Span<const Emitted> x) {
  using Number = math::Complex<math::LlvmValue<T>>;
  const auto number = [&](const Emitted& e) { return Number{{&b, e.value}, {&b, e.imaginary}}; };
  if (op == Opcode::kAbs) return {math::Abs(number(x[0])).v, nullptr};
  const Number result = x.size() == 1 ? scalar::ComplexUnary(op, number(x[0]))
                                      : scalar::ComplexBinary(op, number(x[0]), number(x[1]));
  return {result.re.v, result.im.v};
}

}  // namespace

Emitted EmitComplex(llvm::IRBuilderBase& b, Opcode op, ElementType type,
                    absl::Span<const Emitted> operands) {
  return type == ElementType::kC128 ? Apply<double>(b, op, operands)
                                    : Apply<float>(b, op, operands);
}

}  // namespace hlo
