// What memory this process can still get.
#pragma once

#include <cstdint>

namespace hlo {

// Bytes that the machine, the control group and the limits of the process (ulimit -v, -d) leave to
// it; INT64_MAX where nothing says.
int64_t AvailableMemory();
// The same without the limits of the process, with free swap.
int64_t MemoryOfMachine();

}  // namespace hlo
