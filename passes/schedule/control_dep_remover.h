// Removes all control edges.
//
//   b = f32[] negate(x), control-predecessors={a}      =>   b = f32[] negate(x)
//
// Requires: nothing.  Ensures: no instruction has a control edge.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ControlDepRemover final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
