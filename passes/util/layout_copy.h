// Copies of values with other layouts.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// `value`, or where an array of it lies otherwise than `shape` says, a copy of that array; tuples
// around copies are made anew. Requires Compatible shapes.
Instruction* CopyWithLayouts(Instruction* value, Shape shape);

// What may stand for `old` where it is read: `value`, or where a bitcast reads how the elements of
// `old` lie, and those of `value` lie otherwise, a copy of it. `value` has elements of its own
// where the shapes are not Compatible, and is given back.
Instruction* CopyIfLayoutIsRead(Instruction* value, const Instruction& old);

}  // namespace hlo
