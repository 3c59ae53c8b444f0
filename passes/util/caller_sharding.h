// The result of what a loop or a conditional runs is that instruction's value, which is divided in
// one way.
#pragma once

#include "lib/ir/computation.h"

namespace hlo {

// Forgets the sharding of the computation's root where a loop or a conditional that runs it says
// another one of its own value: for a pass that has made another instruction the root.
void DropShardingThatCallersContradict(Computation& computation);

}  // namespace hlo
