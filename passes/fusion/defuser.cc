#include "passes/fusion/defuser.h"

#include "passes/fusion/unfuse.h"

namespace hlo {

absl::StatusOr<bool> Defuser::Run(Module& module, PassContext& context) {
  const FusionTarget* const target = FindFusionTarget(options_.target.value);
  return UnfuseOthers(module, context, [&](const Instruction& fusion) {
    return fusion.parent()->is_fusion() || target == nullptr ? No("its body stands in its place")
                                                             : Takes(*target, fusion);
  });
}

HLO_DEFINE_PASS(Defuser)

}  // namespace hlo
