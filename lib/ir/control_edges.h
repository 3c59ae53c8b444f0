// Control edges of an instruction whose place others take.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// `from` is left without what is moved; an edge between the two is dropped.
void MoveControlPredecessors(Instruction* from, Instruction* to);
void MoveControlSuccessors(Instruction* from, Instruction* to);
void MoveControlEdges(Instruction* from, Instruction* to);

// For a replacement that was there before. What ran before `old` by control edges runs before what
// reads it (before what ran after it, where nothing reads it), not before the replacement, which
// may be what it needs: that would be a cycle. What ran after `old` runs after the replacement.
void HandOverControlEdges(Instruction* old, Instruction* replacement);

}  // namespace hlo
