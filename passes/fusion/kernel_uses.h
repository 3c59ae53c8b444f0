// Where kernels may compute an instruction: again, and beside what reads it.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// One array is read in place of its result: an upcast, a product with a constant.
bool IsSimpleLoop(const Instruction& instruction);

// Whether computing `instruction` where `user` reads it, in the kernel that ends with `root`,
// repeats no work and keeps loads contiguous; `repeats_simple`: simple work may be repeated.
bool UseAllowsFusion(const Instruction& instruction, const Instruction& user, int operand_index,
                     const Instruction& root, bool repeats_simple);

}  // namespace hlo
