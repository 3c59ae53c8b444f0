// Control edges of an instruction whose place another one takes that was there before.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// What ran before `old` by control edges runs before what reads it (before what ran after it, where
// nothing reads it), not before the replacement, which may be what it needs: that would be a cycle.
// What ran after `old` runs after the replacement. `old` is left without control edges.
void HandOverControlEdges(Instruction* old, Instruction* replacement);

}  // namespace hlo
