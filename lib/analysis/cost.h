// What an instruction costs, counted: the model by which XLA:CPU decides how many threads share a
// loop. O(instructions of a fusion or region).
#pragma once

#include <string>

#include "lib/ir/module.h"

namespace hlo {

struct Cost {
  double flops = 0;            // operations on elements, of any type
  double transcendentals = 0;  // exp, sin, sqrt, … of an element
  double bytes = 0;            // read from and written to memory
};

// One execution. Fusions count all that is in them, but only their inputs and outputs as memory;
// slices count what they take; dots and convolutions a multiplication and an addition per product.
// Loops, calls, and what libraries and devices do (sorts, collectives, …) count as memory alone.
// What owns no memory costs nothing.
Cost CostOf(const Instruction& instruction);

// A line for each instruction outside of fusions.
std::string CostsToString(const Module& module);

}  // namespace hlo
