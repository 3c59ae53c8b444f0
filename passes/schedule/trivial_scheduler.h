// Schedules every computation in its post-order.
//
//   HloModule m      =>   HloModule m, is_scheduled=true
//
// Requires: nothing.  Ensures: the module is scheduled; each computation that is not a fusion body
// runs in post-order. An earlier schedule is replaced. The answer "changed" is about the schedule:
// running it twice changes nothing.
#pragma once

#include "passes/pass.h"

namespace hlo {

class TrivialScheduler final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
