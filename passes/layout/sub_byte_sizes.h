// Element sizes of narrow types in layouts.
#pragma once

#include "passes/pass.h"

namespace hlo {

// Gives each array of the module, the entry layout included, the element size that `bits` says for
// its type (0: whole bytes). Returns whether something changed.
bool SetElementSizes(Module& module, PassContext& context, int64_t (*bits)(ElementType type));

}  // namespace hlo
