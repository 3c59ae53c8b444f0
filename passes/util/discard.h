// Takes away what was built for a replacement that is refused.
#pragma once

#include "lib/ir/computation.h"

namespace hlo {

// `replacement` and what only it reads: instructions with ids from `first_new` on; computations
// with serials from `first_region` on (Module::serial_limit before it was built) that nothing
// calls.
void Discard(Instruction* replacement, uint32_t first_new, uint32_t first_region);

}  // namespace hlo
