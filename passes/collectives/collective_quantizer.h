// Lets collectives move narrow values: conversions to wider types go after them, conversions to
// narrower types before them, with the scale that goes with each.
//
//   g = f32[8] all-gather(f32[4] multiply(convert(s8[4] x), broadcast(scale)))
//       =>   n = s8[8] all-gather(x);  g = f32[8] multiply(convert(n), broadcast(scale))
//   q = s8[8] convert(clamp(lo, divide(f32[8] all-gather(f32[4] x), broadcast(scale)), hi))
//       =>   q = s8[8] all-gather(s8[4] convert(clamp(lo, divide(x, broadcast(scale)), hi)))
//
// Of all-gather, all-to-all, collective-broadcast and collective-permute of one array. Bitcasts,
// copies, reshapes and slices between the two stay on their side of the conversion.
//
// Requires: nothing.  Leaves alone: scales that are not a scalar, or not the same on the devices
// that take part together; scales in modules of several replicas; on the way to a narrower type,
// values that others read, too.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CollectiveQuantizer final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
