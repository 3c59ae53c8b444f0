// Orders of one computation in which little memory is needed, for `hlo-memory-scheduler`
// (memory_scheduler.h says what each is).
#pragma once

#include <vector>

#include "passes/schedule/memory_values.h"

namespace hlo {

using MemoryOrder = std::vector<MemoryValues::Number>;

MemoryOrder ListOrder(const MemoryValues& of);
MemoryOrder DepthFirstOrder(const MemoryValues& of);
MemoryOrder BreadthFirstOrder(const MemoryValues& of);

}  // namespace hlo
