// How many cycles a lane of a GPU takes for an operation on elements: what XLA measured on an H100,
// in columns of element types. What is not measured takes the few cycles that anything takes.
#pragma once

#include <cstdint>

#include "lib/ir/instruction.h"

namespace hlo {

inline constexpr int64_t kThreadsOfWarp = 32;  // that run the same code in step

// Of one element of the result of an elementwise operation, of a tuple of its first array.
double CyclesOfElement(const Instruction& operation);
// Of the whole result of an instruction that is no fusion: elementwise operations, what
// computations of reductions, maps and scatters cost as often as they run, products, and the
// branches of concatenations. What only moves elements takes none.
double CyclesOf(const Instruction& instruction);

}  // namespace hlo
