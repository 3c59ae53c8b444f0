#include "passes/collectives/collectives_schedule_linearizer.h"

#include "lib/analysis/reachability.h"
#include "lib/ops/opcode_groups.h"
#include "passes/util/composite.h"

namespace hlo {
namespace {

// (XLA counts permutations among the channels, and sees no collective in an async-start.)
bool BeginsCollective(const Instruction& instruction) {
  if (kPermutes.Has(instruction.opcode())) return false;
  return HasTrait(instruction.opcode(), kCollective) && !HasTrait(instruction.opcode(), kAsyncDone);
}

// The collective itself, or what waits for it.
Instruction* DoneOf(Instruction* collective) {
  if (!HasTrait(collective->opcode(), kAsyncStart) || collective->uses().size() != 1)
    return collective;
  return collective->uses()[0].user;
}

}  // namespace

absl::StatusOr<bool> CollectivesScheduleLinearizer::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (IsCompositeBody(*computation)) continue;
    std::optional<Reachability> reachability;  // where there are two
    Instruction* before = nullptr;
    for (Instruction* collective : computation->PostOrder()) {
      if (!BeginsCollective(*collective)) continue;
      if (before != nullptr) {
        if (!reachability)
          reachability = context.analyses().Get<Reachabilities>(module).Of(*computation);
        if (!reachability->DependsOn(collective, before) &&
            !reachability->DependsOn(before, collective)) {
          if (!context.MayRewrite()) return changed;
          context.Passed(*collective, "comes after `{}`", before->name());
          collective->AddControlPredecessor(before);
          // What a done waits for stands before it, perhaps after its start.
          if (HasTrait(before->opcode(), kAsyncDone)) reachability.emplace(*computation);
          context.Count("edges");
          changed = true;
        }
      }
      before = DoneOf(collective);
    }
  }
  return changed;
}

HLO_DEFINE_PASS(CollectivesScheduleLinearizer)

}  // namespace hlo
