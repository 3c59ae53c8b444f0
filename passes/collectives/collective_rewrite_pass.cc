#include "passes/collectives/collective_rewrite_pass.h"

#include "absl/container/flat_hash_set.h"
#include "lib/ir/any_instruction.h"

namespace hlo {
namespace {

bool IsUnusedCollective(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kCollective) && !instruction.has_uses() &&
         !instruction.is_root() && !instruction.has_control_edges();
}

}  // namespace

absl::StatusOr<bool> CollectiveRewritePass::Run(Module& module, PassContext& context) {
  absl::flat_hash_set<const Instruction*> unused_before;  // looked up only
  for (const Instruction* instruction : AllInstructions(module)) {
    if (IsUnusedCollective(*instruction)) unused_before.insert(instruction);
  }
  ASSIGN_OR_RETURN(const bool changed, RewritePass::Run(module, context));
  if (!changed) return false;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instruction_vector()) {
      if (!instruction->is_dead() && IsUnusedCollective(*instruction) &&
          !unused_before.contains(instruction))
        computation->RemoveUnused(instruction);
    }
  }
  return true;
}

}  // namespace hlo
