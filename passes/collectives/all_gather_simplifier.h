// Drops all-gathers whose result is known without them.
//
//   g = f32[4] all-gather(f32[4] x)                           =>   g = x
//   g = f32[8] all-gather(f32[4] x), dimensions={0}
//   s = f32[4] dynamic-slice(g, place in the group * 4)       =>   s = x
//
// Requires: nothing.  Leaves alone: gathers of several arrays, and those that others than the slice
// read; parts of others, parts along another dimension.
#pragma once

#include "passes/collectives/collective_rewrite_pass.h"

namespace hlo {

class AllGatherSimplifier final : public CollectiveRewritePass {
 public:
  AllGatherSimplifier();
};

}  // namespace hlo
