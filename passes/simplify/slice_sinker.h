// Computes on whole arrays what was computed on several slices of them, and slices the result.
//
//   a = f32[9] add(slice(p, [0:9]), slice(p, [0:9]))          s = f32[10] add(p, p)
//   b = f32[8] add(slice(p, [2:10]), slice(p, [2:10]))   =>   a = f32[9] slice(s, [0:9]);  b = f32[8] slice(s, [2:10])
//
// Operations form a group when they are the same elementwise operation, with slices of the same
// arrays in the same order; the slices of one operation are equal, those of different ones need not
// be. It is done when the results of a group have at least as many elements as the arrays.
//
// Requires: nothing.  Leaves alone: control edges, side effects, dynamic shapes.  Dead slices
// are left to `dce`.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class SliceSinker final : public ComputationPass {
 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
