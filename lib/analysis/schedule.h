// Keeps schedules true while passes change computations.
//
// A schedule lists every instruction of a computation once, after its operands and control
// predecessors. Passes need not care: the pass manager calls UpdateSchedules after each of them.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Repairs the schedules of a scheduled module: removed instructions leave, new ones are put
// directly before the first instruction that needs them (at the end if none does), the order of the
// others is kept where operands allow. Computations that were added since get their post-order;
// fusion bodies have none. Call before Module::Sweep.
void UpdateSchedules(Module& module);

}  // namespace hlo
