// How precise outputs are.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// For each array of the entry's result its type, or the narrowest float that its elements have been
// rounded to on the way there, through conversions and what only moves them.
std::vector<ElementType> RoundedTypes(const Module& module);

}  // namespace hlo
