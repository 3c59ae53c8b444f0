// Whether something is done by what an instruction calls.
#pragma once

#include "absl/algorithm/container.h"
#include "lib/ir/call_order.h"
#include "lib/ops/opcode_set.h"

namespace hlo {

// Whether what `caller` calls, directly or not, holds one of `opcodes`.
inline bool CallsOpcode(const Instruction& caller, const OpcodeSet& opcodes) {
  const auto holds = [&](const Computation* computation) {
    if (!computation->MayHoldAny(opcodes)) return false;
    for (const Instruction* instruction : computation->instructions()) {
      if (opcodes.Has(instruction->opcode())) return true;
    }
    return false;
  };
  return absl::c_any_of(caller.calls(), [&](const Computation* callee) {
    return holds(callee) || absl::c_any_of(CalleesOf(*callee), holds);
  });
}

}  // namespace hlo
