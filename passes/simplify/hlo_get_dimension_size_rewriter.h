// Reads sizes of dimensions where they were given.
//
//   n = s32[] get-dimension-size(f32[<=8] set-dimension-size(x, k), dimensions={0})     =>   k
//   n = s32[] get-dimension-size(f32[8] x), dimensions={0}                              =>   8
//   n = s32[] get-dimension-size(f32[<=10] pad(f32[<=8] x, z), padding=1_1)             =>   (size of x) + 2
//
// A size is followed through what keeps it: elementwise operations, transposes, broadcasts,
// reductions and products of other dimensions, sorts, gathers, scatters, reshapes that keep the
// dimension, tuples, calls, loops that hand the dimension on. Concatenations, paddings, slices,
// windows, other reshapes and conditionals make sizes of sizes; these are computed anew. What the
// body of a loop, a branch or a callee gets has a size there if that is a number. Afterwards a
// set-dimension-size that gives a static shape is its operand.
//
// Requires: nothing.  Ensures: get-dimension-size is asked only of sizes that are nowhere given:
// parameters of the entry and of what has several callers, states that loops change, results of
// custom calls, dimensions that convolutions have made, and those of reshapes with several dynamic
// ones of the same elements.
#pragma once

#include "passes/pass.h"

namespace hlo {

class HloGetDimensionSizeRewriter final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
