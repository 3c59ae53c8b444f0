// What `topk` and the custom call TopK have in common.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// A `topk`, or a custom call to TopK with a comparator, of a static array.
bool IsTopk(const Instruction& instruction);

// Whether the first of two pairs stands before the second: (value, value, index, index) -> pred[],
// for sorts of the operand of `topk` with a number for each element. What the custom call has for a
// comparator if it is one of pairs, else a new computation.
Computation* TopkOrder(const Instruction& topk);
// The same without the indices; null where a custom call's comparator may read them.
Computation* TopkValueOrder(const Instruction& topk);

}  // namespace hlo
