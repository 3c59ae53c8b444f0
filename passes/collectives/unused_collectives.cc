#include "passes/collectives/unused_collectives.h"

namespace hlo {
namespace {

bool IsUnusedCollective(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kCollective) && !instruction.has_uses() &&
         !instruction.is_root() && !instruction.has_control_edges();
}

}  // namespace

UnusedCollectives::UnusedCollectives(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (IsUnusedCollective(*instruction)) noted_.insert(instruction);
    }
  }
}

void UnusedCollectives::RemoveOthers(Module& module) const {
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instruction_vector()) {
      if (!instruction->is_dead() && IsUnusedCollective(*instruction) &&
          !noted_.contains(instruction))
        computation->RemoveUnused(instruction);
    }
  }
}

}  // namespace hlo
