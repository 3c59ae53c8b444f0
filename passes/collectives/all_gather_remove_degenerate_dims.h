// Gathers without dimensions of size 1.
//
//   all-gather(f32[1,4,1,8] x), dimensions={1}
//     =>   f32[1,8,1,8] reshape(all-gather(f32[4,8] reshape(x)), dimensions={0})
//
// The gathered dimension stays, whatever its size.
//
// Requires: nothing.  Ensures: operands of all-gathers have no other dimensions of size 1, but for
// those below.
// Leaves alone: dynamic shapes, constrained layouts; several arrays where the gathered dimension
// would not be the same for all.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class AllGatherRemoveDegenerateDims final : public RewritePass {
 public:
  AllGatherRemoveDegenerateDims();
};

}  // namespace hlo
