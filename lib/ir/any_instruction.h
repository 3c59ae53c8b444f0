// Whether some instruction of a module is of a kind.
//
//   AnyInstruction(module, [](const Instruction& i) { return i.opcode() == Opcode::kSend; })
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Computations that nobody calls count, too.
template <class Predicate>
bool AnyInstruction(const Module& module, const Predicate& predicate) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (predicate(*instruction)) return true;
    }
  }
  return false;
}

}  // namespace hlo
