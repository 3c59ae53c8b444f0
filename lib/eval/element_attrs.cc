#include "lib/eval/element_attrs.h"

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
    attrs.exponent_bits = static_cast<int8_t>(precision.exponent_bits);
    attrs.mantissa_bits = static_cast<int8_t>(precision.mantissa_bits);
  }
  return attrs;
}

}  // namespace hlo
