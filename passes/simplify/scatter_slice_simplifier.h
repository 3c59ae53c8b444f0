// Scatters into what is read only.
//
//   s = f32[9] scatter(f32[9] x, i, u)                           s = f32[8] scatter(f32[8] slice(x), i, u)
//   m = f32[9] multiply(s, y)                              =>    m = f32[8] multiply(s, f32[8] slice(y))
//   r = f32[8] slice(m), slice={[0:8]}
//
// Programs scatter what they do not want into a last row that they cut off; an update outside of
// an array is dropped anyway. Between the scatter and the slices may be elementwise operations and,
// of scatters into several arrays, get-tuple-elements; what else they read is cut, too.
//
// Requires: nothing.  Ensures: no scatter is read by equal slices alone that cut off ends of
// dimensions over which an update is either inside or not.
// Leaves alone: slices that begin after 0 or leave gaps, or of which two are different; windows
// that extend over a dimension that is cut and could be half inside; dimensions that scatter and
// indices have in common.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ScatterSliceSimplifier final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
