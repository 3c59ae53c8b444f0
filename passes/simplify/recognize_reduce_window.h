// Finds windows that are written out.
//
//   add(add(slice(x, [0:6]), slice(x, [1:7])), slice(x, [2:8]))
//     =>   f32[6] reduce-window(f32[8] x, 0), window={size=3}, to_apply=add
//
// The leaves of a tree of one commutative, associative operation are slices of one array that
// differ in where they start along one dimension, by equal steps; strides become strides of the
// window, steps its dilation, what is not read is cropped by negative padding. Paddings of one
// array that shift it are leaves as well, and so are a dynamic-slice from a constant place and a
// reduce-window that was found before.
//
// Sums are added up first: what is subtracted or multiplied by a constant counts that often. Two
// slices make a window there, for other operations three. A sum of fewer terms than are written is
// written as such: x + y - x is y, x + x is 2 * x.
//
// Requires: nothing.  Leaves alone: trees of other operations whose inner values something else
// reads, dynamic shapes, operations without an identity, sums with weights (XLA makes dots of them
// at higher levels of optimization).
#pragma once

#include "passes/pass.h"

namespace hlo {

class RecognizeReduceWindow final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
