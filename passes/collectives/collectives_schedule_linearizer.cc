#include "passes/collectives/collectives_schedule_linearizer.h"

#include "lib/analysis/reachability.h"

namespace hlo {
namespace {

bool BeginsCollective(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kAsyncStart)
    return HasTrait(instruction.call(0)->root()->opcode(), kCollective);
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
