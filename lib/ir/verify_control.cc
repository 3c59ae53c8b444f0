// Rules that join instructions, computations and the module's configuration.
//
//   entry         is not the body of a fusion
#include "lib/ir/verify_internal.h"

namespace hlo::internal {

void VerifyControl(const VerifyContext& context) {
  const Computation& entry = *context.module.entry();
  if (const Instruction* fusion = entry.fusion_caller()) {
    context.findings.Add(fusion->loc(), "fusion `{}` calls the entry computation `{}`", fusion->name(), entry.name());
    context.findings.NoteDefinition(entry);
  }
}

}  // namespace hlo::internal
