// Schedules every computation in a post-order.
//
//   HloModule m      =>   HloModule m, is_scheduled=true
//
// It is that of XLA's visitors, not that of text: what nobody needs comes first, the root last;
// before an instruction come its operands from left to right, then what control edges put before
// it.
//
// Requires: nothing.  Ensures: the module is scheduled; each computation that is not a fusion body
// runs in that order. An earlier schedule is replaced. The answer "changed" is about the schedule:
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
