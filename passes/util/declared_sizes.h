// Sizes of what is handed on as an array of dynamic size and has none yet.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// Whether a static array somewhere in `from` stands where `to` has a bounded one.
bool LacksSizes(Shape from, Shape to);

// `value`, with all of each dimension in use that `to` has as a bounded one and `value` does not;
// tuples around such arrays are made anew.
Instruction* WithDeclaredSizes(Instruction* value, Shape to);

}  // namespace hlo
