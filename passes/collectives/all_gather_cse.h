// Gathers a parameter once.
//
//   g = f32[8] all-gather(p)
//   h = f32[8] all-gather(get-tuple-element(opt-barrier(tuple(p)), index=0))     =>   h is g
//
// Training programs gather the weights again for the gradients, after a barrier; where memory is
// no concern once is enough. The same parameter is found through tuples, barriers and conversions
// to the same types.
//
// Requires: nothing.  Ensures: in each computation, all-gathers of the same parameter with the
// same attributes, but for the channel, are one.
// Leaves alone: all-gathers of anything else (`cse` knows equal operands), with control edges, of
// several arrays.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AllGatherCse final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
