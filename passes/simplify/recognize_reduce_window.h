// Finds windows that are written out.
//
//   add(add(slice(x, [0:6]), slice(x, [1:7])), slice(x, [2:8]))
//     =>   f32[6] reduce-window(f32[8] x, 0), window={size=3}, to_apply=add
//
// The leaves of a tree of one commutative, associative operation are slices of one array that
// differ in where they start along one dimension, by equal steps; strides become strides of the
// window, steps its dilation, what is not read is cropped by negative padding.
//
// Requires: nothing.  Leaves alone: less than three slices, trees whose inner values something else
// reads, dynamic shapes, operations without an identity.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class RecognizeReduceWindow final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  RecognizeReduceWindow();
};

}  // namespace hlo
