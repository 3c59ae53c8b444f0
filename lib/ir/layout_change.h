// Which instructions may lie otherwise than what they read.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// Whether the arrays of the result may have another layout than operands of the same rank. Without
// a back end that says more (VerifierOptions).
bool MayChangeLayout(const Instruction& instruction);

}  // namespace hlo
