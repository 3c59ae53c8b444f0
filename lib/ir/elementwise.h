// What computes each element of its result from the elements at the same place.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// An operation of that kind, or the same bits as another type of the same width.
inline bool WorksByElement(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kBitcastConvert)
    return SameDimensions(instruction.shape(), instruction.operand(0)->shape());
  return IsElementwise(instruction.opcode());
}

}  // namespace hlo
