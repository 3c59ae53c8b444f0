// Operations as two halves: a start, and a done that gives the result.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// A new computation of `instruction` alone, for an async-start.
Computation* AsyncComputationOf(const Instruction& instruction);

// Puts `start` and `done`, which are built from id `first_new` on, in the place of `whole`, which
// goes. What is said of `whole` is said of both, but for its result, which `start` does not give.
void ReplaceByPair(Instruction* whole, Instruction* start, Instruction* done, uint32_t first_new);

}  // namespace hlo
