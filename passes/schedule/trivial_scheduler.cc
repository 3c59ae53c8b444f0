#include "passes/schedule/trivial_scheduler.h"

namespace hlo {

absl::StatusOr<bool> TrivialScheduler::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  bool changed = !module.is_scheduled();
  for (Computation* computation : context.NonFusionComputations(module)) {
    std::vector<Instruction*> sequence = computation->PostOrder();
    if (computation->has_schedule() && computation->schedule() == sequence) continue;
    computation->set_schedule(std::move(sequence));
    context.Count("scheduled computations");
    changed = true;
  }
  module.set_scheduled(true);
  return changed;
}

HLO_DEFINE_PASS(TrivialScheduler)

}  // namespace hlo
