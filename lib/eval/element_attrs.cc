#include "lib/eval/element_attrs.h"

#include <algorithm>

namespace hlo {

ElementAttrs ElementAttrsOf(const Instruction& instruction) {
  ElementAttrs attrs;
  if (instruction.opcode() == Opcode::kCompare) {
    const auto& compare = instruction.attrs<CompareAttrs>();
    attrs.direction = compare.direction;
    const bool total = compare.type == ComparisonType::kTotalOrder;
    attrs.comparison = total ? ComparisonType::kTotalOrder : ComparisonType::kFloat;
  }
  if (instruction.opcode() == Opcode::kReducePrecision) {
    const auto& precision = instruction.attrs<ReducePrecisionAttrs>();
    // No element type has more than 64 bits; XLA allows any number.
    attrs.exponent_bits = static_cast<int8_t>(std::min<int64_t>(precision.exponent_bits, 64));
    attrs.mantissa_bits = static_cast<int8_t>(std::min<int64_t>(precision.mantissa_bits, 64));
  }
  return attrs;
}

}  // namespace hlo
