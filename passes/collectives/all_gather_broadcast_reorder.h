// Gathers before it broadcasts, so that less travels between devices.
//
//   b = f32[8,64] broadcast(x), dimensions={1}
//   r = f32[8,256] all-gather(b), dimensions={1}       =>   g = f32[256] all-gather(x), dimensions={0}
//                                                           r = f32[8,256] broadcast(g), dimensions={1}
//
// Along a dimension that the broadcast has made, the shards are put side by side first:
//
//   r = f32[32,64] all-gather(b), dimensions={0}       =>   g = f32[4,64] all-gather(f32[1,64] reshape(x)), dimensions={0}
//                                                           r = f32[32,64] reshape(f32[4,8,64] broadcast(g), dimensions={0,2})
//
// Requires: nothing.  Ensures: no all-gather of one operand reads a broadcast that repeats along
// another dimension than the gathered one.
// Leaves alone: modules where some all-gather constrains layouts (they are somebody's choice
// already), all-gathers of several operands, broadcasts of size 1 only, dynamic shapes.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class AllGatherBroadcastReorder final : public RewritePass {
 public:
  AllGatherBroadcastReorder();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
