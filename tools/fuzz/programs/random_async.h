// Programs of asynchronous chains out of nothing, for mode `async`: starts, updates with late
// operands and results, and dones of any interleaving, in the entry, in loops, in branches, inside
// of what runs asynchronously, across loops; on threads with names and without; beside collectives
// and their asynchronous forms, on one to four devices. Integers only: results are exact.
#pragma once

#include <string>

#include "tools/fuzz/random.h"

namespace hlo {

std::string RandomAsyncProgram(FuzzRandom& random);

}  // namespace hlo
