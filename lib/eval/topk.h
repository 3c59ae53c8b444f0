// The first elements of rows.
#pragma once

#include "lib/ir/instruction.h"
#include "lib/types/literal.h"

namespace hlo {

// The k first elements of each row in total order, and where they stood; ties in the order of their
// places.
Literal TopKOf(const Literal& operand, int64_t k, bool largest);

// Of a custom call that gives them (TopK): whether the largest come first. The comparator says it;
// without one they do.
bool TakesLargest(const Instruction& call);

}  // namespace hlo
