// Gathers a parameter once.
//
//   g = f32[8] all-gather(p)
//   h = f32[8] all-gather(get-tuple-element(opt-barrier(tuple(p)), index=0))     =>   h is g
//
// Training programs gather the weights again for the gradients, after a barrier; where memory is
// no concern once is enough. The same parameter is found through tuples, barriers and conversions
// to the same types.
//
// Requires: nothing.  Ensures: nothing.
// Of gathers of one parameter the first in the text is the one that others are compared with; one
// that differs in its dimension, its groups or its channel stays. One with control edges loses its
// readers only.
// Leaves alone: all-gathers of anything else (`cse` knows equal operands), of several arrays, and,
// unlike XLA, those of another element of the parameter, or of another chain of conversions.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AllGatherCse final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
