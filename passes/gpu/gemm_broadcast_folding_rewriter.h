// Lets cuBLAS read a matrix that is the same in all batches once.
//
//   y = f32[8,16,4] broadcast(x), dimensions={1,2}
//   c = (f32[8,32,4], s8[64]) custom-call(a, y), custom_call_target="__cublas$gemm",
//           backend_config={…"rhs_contracting_dimensions":["1"],"rhs_batch_dimensions":["0"]…}
//     =>   c = (f32[8,32,4], s8[64]) custom-call(a, x), …,
//           backend_config={…"rhs_contracting_dimensions":["0"],"rhs_batch_dimensions":[]…}
//
// The library steps from batch to batch by 0 elements on the side without batch dimensions. One
// side of a call only: the left one where both are broadcasts.
//
// Requires: nothing.  Ensures: nothing.
// Leaves alone: broadcasts that make other dimensions than the batch dimensions, only some of
// these, or put the others into another order; dimensions that were there already and are batch
// dimensions; products of f8, which are of one batch; several contracted dimensions.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class GemmBroadcastFoldingRewriter final : public ComputationPass {
 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
