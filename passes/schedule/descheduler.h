// Forgets the schedule.
//
//   HloModule m, is_scheduled=true      =>   HloModule m
//
// Requires: nothing.  Ensures: the module is not scheduled.
#pragma once

#include "passes/pass.h"

namespace hlo {

class Descheduler final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
