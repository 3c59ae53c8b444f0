// Removes updates of parts that nobody reads.
//
//   u = f32[8] dynamic-update-slice(x, f32[2] y, 0)
//   s = f32[4] slice(u), slice={[4:8]}                   =>   s = f32[4] slice(x), slice={[4:8]}
//
// All users are slices that do not meet the update in some dimension, and its starts are constants.
// Users come before what they read, so what only such an update read goes as well.
//
// Requires: nothing.  Leaves alone: updates that are results of computations or have control edges,
// starts in an array, bodies of fusions.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class DeadDynamicUpdateSliceElimination final : public ComputationPass {
 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
