#include "passes/schedule/descheduler.h"

namespace hlo {

absl::StatusOr<bool> Descheduler::Run(Module& module, PassContext& context) {
  if (!module.is_scheduled() || !context.MayRewrite()) return false;
  module.ClearSchedule();
  return true;
}

HLO_DEFINE_PASS(Descheduler)

}  // namespace hlo
