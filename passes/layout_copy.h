// Copies of values with other layouts.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// `value`, or where an array of it lies otherwise than `shape` says, a copy of that array; tuples
// around copies are made anew. Requires Compatible shapes.
Instruction* CopyWithLayouts(Instruction* value, Shape shape);

}  // namespace hlo
