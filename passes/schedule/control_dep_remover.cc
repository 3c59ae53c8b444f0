#include "passes/schedule/control_dep_remover.h"

#include "lib/ir/any_instruction.h"

namespace hlo {

absl::StatusOr<bool> ControlDepRemover::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Instruction* instruction : AllInstructions(module)) {
    const size_t predecessors = instruction->control_predecessors().size();
    if (predecessors == 0) continue;  // every edge has a predecessor and a successor
    if (!context.MayRewrite()) return changed;
    while (!instruction->control_predecessors().empty())
      instruction->RemoveControlPredecessor(instruction->control_predecessors().back());
    context.Count("edges", static_cast<int64_t>(predecessors));
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(ControlDepRemover)

}  // namespace hlo
