// Copies of values with other layouts.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// Whether every array of both values lies in the same way; missing layouts are row-major.
bool SameLayouts(Shape a, Shape b);

// `value`, or where an array of it lies otherwise than `shape` says, a copy of that array; tuples
// around copies are made anew. Requires Compatible shapes.
Instruction* CopyWithLayouts(Instruction* value, Shape shape);

}  // namespace hlo
