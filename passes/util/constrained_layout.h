// Collectives whose layouts the program has fixed.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

bool ConstrainsLayout(const Instruction& instruction);

// Whether any instruction of this opcode does.
bool AnyConstrainsLayout(const Module& module, Opcode opcode);

}  // namespace hlo
