// Reductions between devices that loops sum up: what the passes ask that prepare them for moving
// out of loops (while_loop_all_reduce_code_motion.h).
#pragma once

#include "lib/ir/module.h"

namespace hlo {

bool IsBodyOfLoop(const Computation& computation);

// An element of the state that the iteration begins with.
bool IsElementOfState(const Instruction& value);

// Whether something reads `value` once, and no control edge ties it.
bool IsReadOnceInAnyOrder(const Instruction& value);

// Whether devices may combine what `convert` makes of each value, instead of `convert` making it of
// what they combine: sums of floats in a wider type, which rounds less, and of integers in one that
// is not wider, for they wrap around; the greatest and the least in a type that has all values.
bool MayConvertBefore(const Instruction& convert, const Instruction& reduce);

}  // namespace hlo
