#include "passes/fusion/defuser.h"

#include "passes/fusion/fuse.h"

namespace hlo {

absl::StatusOr<bool> Defuser::Run(Module& module, PassContext& context) {
  bool changed = false;
  std::vector<Computation*> bodies;
  for (Computation* computation :
       context.Computations(module)) {  // callees first: nested ones are flat
    for (Instruction* fusion : computation->SequenceOrPostOrder()) {
      if (!fusion->IsFusion()) continue;
      if (!context.MayRewrite()) break;
      Computation* body = fusion->fused_computation();
      context.Passed(*fusion, "its body stands in its place");
      Unfuse(fusion);
      context.Count("defused");
      changed = true;
      if (body->callers().empty()) bodies.push_back(body);
    }
  }
  for (Computation* body : bodies) {
    if (body->callers().empty() && !body->is_entry()) module.RemoveComputation(body);
  }
  return changed;
}

HLO_DEFINE_PASS(Defuser)

}  // namespace hlo
