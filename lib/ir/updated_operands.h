// The operands that an operation writes updates into.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// Its first operands, one for each result, are arrays that it updates: of dynamic-update-slice one,
// of scatters as many as there are updates. 0: it is no update.
inline int UpdatedOperandCount(const Instruction& x) {
  if (x.opcode() == Opcode::kDynamicUpdateSlice) return 1;
  return x.opcode() == Opcode::kScatter ? x.operand_count() / 2 : 0;
}

}  // namespace hlo
