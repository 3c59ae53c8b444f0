// The result of what a loop or a conditional runs is that instruction's value, which is divided in
// one way (lib/ir/one_sharding.h).
#pragma once

#include "lib/ir/computation.h"

namespace hlo {

// Forgets the sharding of the computation's root where a loop or a conditional that runs it, or
// another that is divided as that one, says another: for a pass that has made another instruction
// the root.
void DropShardingThatCallersContradict(Computation& computation);

// Makes `root`, which was there before, the root of its computation. The same there.
void SetRoot(Instruction& root);

}  // namespace hlo
