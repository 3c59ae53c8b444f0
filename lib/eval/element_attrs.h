// What an elementwise opcode needs besides its operands, for those that work element by element.
#pragma once

#include <cstdint>

#include "lib/ir/instruction.h"
#include "lib/ops/enums.h"

namespace hlo {

struct ElementAttrs {
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType comparison = ComparisonType::kFloat;
  int8_t exponent_bits = 0;  // reduce-precision
  int8_t mantissa_bits = 0;
  friend bool operator==(const ElementAttrs&, const ElementAttrs&) = default;
};

ElementAttrs ElementAttrsOf(const Instruction& instruction);

}  // namespace hlo
