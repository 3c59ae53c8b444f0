// Chains of async-start, async-update and async-done, which may run through what only passes values
// on: tuples, copies, barriers, loops, calls, branches, some custom calls.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// What only passes operand 0 on as far as asynchronous chains are concerned.
bool PassesOperandOn(const Instruction& instruction);

// The instruction that makes `value`, seen through what passes it on; null when that cannot be
// followed.
const Instruction* TraceValue(const Instruction* value);

// Whether `value` is what a start or an update yields, seen through what passes it on.
bool IsUnderWay(const Instruction& value);

// The async-start of the chain that `step` (an update or done) belongs to; null when there is none.
const Instruction* AsyncStartOf(const Instruction& step);

// Whether an async-start runs `computation`: it holds that one operation and may not hold more.
bool IsAsyncBody(const Computation& computation);

}  // namespace hlo
