// What an instruction costs, counted: the model by which XLA:CPU decides how many threads share a loop.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

struct Cost {
  double flops = 0;            // operations on elements, of any type
  double transcendentals = 0;  // exp, sin, sqrt, … of an element
  double bytes = 0;            // read from and written to memory
};

// One execution. Fusions count all that is in them, but only their inputs and outputs as memory; slices count what they take. Loops, calls,
// and what libraries and devices do (dots, sorts, collectives, …) count as memory alone.
Cost CostOf(const Instruction& instruction);

}  // namespace hlo
