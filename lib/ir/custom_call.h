// Custom calls by their targets.
#pragma once

#include <string_view>

#include "lib/ir/instruction.h"

namespace hlo {

inline bool IsCustomCall(const Instruction& instruction, std::string_view target) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attrs<CustomCallAttrs>().custom_call_target == target;
}

}  // namespace hlo
