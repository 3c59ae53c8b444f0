// The order of computations along calls, for walks that must not recurse: text may nest calls as
// deep as it likes.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// What `root` calls, directly or not, each once and callees first; `root` itself is not in it.
// Computations that call the same things from the same places in the same order get the same order.
std::vector<const Computation*> CalleesOf(const Computation& root);

}  // namespace hlo
