// Scatters into what is read only.
//
//   s = f32[9] scatter(f32[9] x, i, u);   y = f32[8] slice(s), slice={[0:8]}      =>   y = f32[8] scatter(f32[8] slice(x), i, u)
//
// Programs scatter what they do not want into a last row that they cut off; an update outside of
// an array is dropped anyway.
//
// Requires: nothing.  Ensures: no scatter is read by slices alone that cut off ends of dimensions
// which updates do not extend over.
// Leaves alone: scatters that anything but slices reads, slices that begin after 0 or leave gaps,
// several arrays at once.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ScatterSliceSimplifier final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
