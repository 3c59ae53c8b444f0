#include "passes/fusion/defuser.h"

#include "lib/ir/async_chain.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fusion_target.h"

namespace hlo {

absl::StatusOr<bool> Defuser::Run(Module& module, PassContext& context) {
  const FusionTarget* target = nullptr;
  if (!options_.target.empty()) {
    ASSIGN_OR_RETURN(target, GetFusionTarget(options_.target));
  }
  bool changed = false;
  std::vector<Computation*> bodies;
  // Callees first: nested ones are flat.
  for (Computation* computation : context.Computations(module)) {
    if (IsAsyncBody(*computation)) continue;  // it may hold nothing but the fusion
    InlinedInstructions inlined;              // the schedule is written once: it may be long
    for (Instruction* fusion : computation->SequenceOrPostOrder()) {
      if (!fusion->IsFusion()) continue;
      const Decision kept = computation->is_fusion() || target == nullptr
                                ? No("its body stands in its place")
                                : Takes(*target, *fusion);
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

HLO_DEFINE_PASS(Defuser)

}  // namespace hlo
