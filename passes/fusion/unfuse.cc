#include "passes/fusion/unfuse.h"

#include <vector>

#include "lib/ir/async_chain.h"
#include "passes/control_flow/call_inliner.h"
#include "passes/fusion/fuse.h"

namespace hlo {

bool UnfuseOthers(Module& module, PassContext& context,
                  absl::FunctionRef<Decision(const Instruction& fusion)> keeps) {
  bool changed = false;
  std::vector<Computation*> bodies;
  for (Computation* computation : context.Computations(module)) {
    if (IsAsyncBody(*computation)) continue;  // it may hold nothing but the fusion
    InlinedInstructions inlined;              // the schedule is written once: it may be long
    for (Instruction* fusion : computation->SequenceOrPostOrder()) {
      if (!fusion->IsFusion()) continue;
      const Decision kept = keeps(*fusion);
      if (kept) continue;
      if (!context.MayRewrite()) break;
      Computation* body = fusion->fused_computation();
      context.Passed(*fusion, "{}", kept.reason());
      Unfuse(fusion, &inlined);
      context.Count("defused");
      changed = true;
      if (body->callers().empty()) bodies.push_back(body);
    }
    if (!inlined.empty()) ReplaceInSchedule(*computation, inlined);
  }
  for (Computation* body : bodies) {
    if (body->callers().empty() && !body->is_entry()) module.RemoveComputation(body);
  }
  return changed;
}

}  // namespace hlo
