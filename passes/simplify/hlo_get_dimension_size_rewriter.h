// Reads sizes of dimensions where they were given.
//
//   n = s32[] get-dimension-size(f32[<=8] set-dimension-size(x, k), dimensions={0})     =>   k
//   n = s32[] get-dimension-size(f32[8] x), dimensions={0}                              =>   8
//
// A size is followed through what keeps it: elementwise operations, transposes, broadcasts,
// reductions and products of other dimensions, sorts, reshapes that keep the dimension, tuples.
// Afterwards a set-dimension-size that gives a static shape is its operand.
//
// Requires: nothing.  Ensures: get-dimension-size is asked only of sizes that are nowhere given:
// parameters, results of loops, conditionals, calls and custom calls, and
// dimensions that concatenate, pad, slice or convolution have made.
#pragma once

#include "passes/pass.h"

namespace hlo {

class HloGetDimensionSizeRewriter final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
