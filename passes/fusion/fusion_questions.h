// What a fusion of loops costs: is a value expensive to compute again, and is each of its
// elements read once?
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Whether an instruction costs more than moving its result through memory; the table of XLA:CPU.
bool IsExpensiveOnCpu(const Instruction& instruction);
// Whether `user` reads elements of its operand `i` more than once.
bool ReusesElements(const Instruction& user, int i);
// Operations that become part of a loop over the elements of a result.
bool CanBeInLoop(const Instruction& instruction);
// Element by element, constants included.
bool IsElementwiseOrConstant(const Instruction& instruction);
// No dimension but those of size 1 counts.
int TrueRank(Shape shape);

}  // namespace hlo
