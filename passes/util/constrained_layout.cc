#include "passes/util/constrained_layout.h"

#include "lib/ops/attrs.h"

namespace hlo {

bool ConstrainsLayout(const Instruction& instruction) {
  const AttrsPtr& attrs = instruction.attrs_ptr();
  if (attrs.Is<AllReduceAttrs>()) return attrs.Get<AllReduceAttrs>().constrain_layout;
  if (attrs.Is<AllGatherAttrs>()) return attrs.Get<AllGatherAttrs>().constrain_layout;
  if (attrs.Is<ReduceScatterAttrs>()) return attrs.Get<ReduceScatterAttrs>().constrain_layout;
  if (attrs.Is<AllToAllAttrs>()) return attrs.Get<AllToAllAttrs>().constrain_layout;
  return false;  // the others have no such attribute
}

bool AnyConstrainsLayout(const Module& module, Opcode opcode) {
  for (const Computation* computation : module.computations()) {
    if (!computation->MayHold(opcode)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == opcode && ConstrainsLayout(*instruction)) return true;
    }
  }
  return false;
}

}  // namespace hlo
