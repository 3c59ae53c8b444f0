// The approximation of GELU by tanh, written out.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// The x of x·(0.5·(1 + tanh(sqrt(2/pi)·(x + 0.044715·x³)))), or null. Nobody else reads what is in
// between; x³ is x·(x·x), and 0.044715 and sqrt(2/pi) are that up to 128 units of rounding.
Instruction* GeluOf(const Instruction& multiply);

// How many instructions of such a pattern read x.
inline constexpr size_t kGeluReaders = 4;

}  // namespace hlo
