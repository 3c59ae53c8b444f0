// What a module says of its entry's parameters by their numbers.
#pragma once

#include "lib/ir/module_config.h"

namespace hlo {

// Forgets what is said of parameter `number` (layout, aliases, donors, prefetches, dynamic sizes,
// shardings); those after it have moved down by one.
void ForgetEntryParameter(ModuleConfig& config, int number);

}  // namespace hlo
