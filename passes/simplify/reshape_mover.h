// Moves reshapes and transposes below elementwise operations, where others may undo them.
//
//   a = f32[6] reshape(x)   b = f32[6] reshape(y)         m = f32[2,3] multiply(x, y)
//   r = f32[6] multiply(a, b)                        =>   r = f32[6] reshape(m)
//
// At least one operand is a reshape (transpose) of a value that is worth it; the others are equal
// reshapes, or values that can be reshaped for nothing: constants, `rng` with one user, broadcasts
// of scalars (transposes: broadcasts that stay sorted). Those get the inverse reshape explicitly; a
// transposed operand becomes transpose(transpose(x)): `algsimp` and `constant_folding` clean up.
//
// Requires: nothing.  Ensures: one run moves each reshape below at most one operation.
// Leaves alone: operands of different shapes, reshapes with users that are not moved, dynamic
// shapes, fusion bodies. A sharding of the elementwise operation moves to the reshape.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ReshapeMoverOptions {
  // Also reshapes of broadcasts of arrays with at most one dimension, and of those whose dimensions
  // the reshape leaves alone.
  bool reshape_of_1d_broadcast_is_cheap = false;

  HLO_OPTIONS(ReshapeMoverOptions, reshape_of_1d_broadcast_is_cheap)
};

class ReshapeMover final : public WithOptions<Pass, ReshapeMoverOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
