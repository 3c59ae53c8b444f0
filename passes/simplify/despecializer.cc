#include "passes/simplify/despecializer.h"

#include "passes/fusion/defuser.h"
#include "passes/layout/sub_byte_size_removal.h"
#include "passes/precision/bf16_mixed_precision_removal.h"
#include "passes/schedule/control_dep_remover.h"
#include "passes/schedule/descheduler.h"

namespace hlo {

absl::StatusOr<bool> Despecializer::Run(Module& module, PassContext& context) {
  Descheduler descheduler;
  ControlDepRemover control_deps;
  Defuser defuser;
  Bf16MixedPrecisionRemoval mixed_precision;
  SubByteSizeRemoval sub_bytes;
  bool changed = false;
  for (Pass* pass : std::initializer_list<Pass*>{&descheduler, &control_deps, &defuser,
                                                 &mixed_precision, &sub_bytes}) {
    ASSIGN_OR_RETURN(const bool step_changed, RunPart(*pass, module, context));
    changed |= step_changed;
  }
  return changed;
}

HLO_DEFINE_PASS(Despecializer)

}  // namespace hlo
