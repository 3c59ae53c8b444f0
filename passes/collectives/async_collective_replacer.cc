#include "passes/collectives/async_collective_replacer.h"

#include "passes/collectives/sync_collectives.h"

namespace hlo {

absl::StatusOr<bool> AsyncCollectiveReplacer::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    for (Instruction* done : computation->PostOrder()) {
      if (!EndsCollective(*done)) continue;
      Instruction* const start = done->operand(0);
      if (!StartsCollective(*start) || !MayJoin(start, done)) {
        context.Missed(*done, "it ends no pair that nothing else reads or runs within");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*done, "begun and ended at once");
      context.Count("replaced");
      JoinCollective(start, done);
      changed = true;
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(AsyncCollectiveReplacer)

}  // namespace hlo
