// Custom calls by their targets.
#pragma once

#include <string_view>

#include "lib/ir/instruction.h"

namespace hlo {

inline bool IsCustomCall(const Instruction& instruction, std::string_view target) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attrs<CustomCallAttrs>().custom_call_target == target;
}

// Markers of shardings, and what makes an array of its parts: values go through them.
inline bool HandsOperandOn(const Instruction& custom_call) {
  const std::string_view target = custom_call.attrs<CustomCallAttrs>().custom_call_target;
  return target == "Sharding" || target == "LocalToGlobalShape" || target == "GlobalToLocalShape" ||
         target.starts_with("xla.sdy.");
}

}  // namespace hlo
