// A bound of the memory that this process may take, so that asking for too much fails with a
// message instead of ending with the system killing this or another process.
#pragma once

#include <cstdint>

namespace hlo {

// Limits writable private memory to `bytes`; 0: to what the machine (and the control group) has
// available now.
void LimitMemory(uint64_t bytes);

}  // namespace hlo
