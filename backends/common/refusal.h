// What a compiled platform says of an instruction that it cannot run.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "lib/eval/custom_calls.h"
#include "lib/ir/computation.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"

namespace hlo {

// Nobody runs it, wherever it stands.
inline bool IsBeyondReach(const Instruction& instruction) {
  if (kSendRecvOps.Has(instruction.opcode())) return true;
  return instruction.opcode() == Opcode::kCustomCall &&
         !IsKnownCustomCall(instruction.attrs<CustomCallAttrs>().custom_call_target);
}

// The instruction, or the first one in the computations it calls, that is beyond reach.
inline const Instruction* FindBeyondReach(const Instruction& instruction) {
  if (IsBeyondReach(instruction)) return &instruction;
  for (const Computation* callee : instruction.calls()) {
    for (const Instruction* inner : callee->instructions()) {
      if (const Instruction* found = FindBeyondReach(*inner); found != nullptr) return found;
    }
  }
  return nullptr;
}

// kUnimplemented at the instruction to blame. `reason`: what the platform's kernels
// have against it.
inline absl::Status Refuse(std::string_view platform, const Instruction& instruction,
                           std::string_view reason) {
  const Instruction* cause = FindBeyondReach(instruction);
  if (cause == nullptr) {
    return Unsupported(instruction.loc(), "platform `{}` cannot run `{}` yet: {}", platform,
                       instruction.opcode_text(), reason);
  }
  if (cause->opcode() == Opcode::kCustomCall) return UnknownCustomCall(*cause);
  return Unsupported(cause->loc(),
                     "platform `{}` cannot run `{}` yet: it needs a host to exchange data with",
                     platform, cause->opcode_text());
}

}  // namespace hlo
