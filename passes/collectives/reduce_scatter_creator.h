// Reduces only the part that a device wants.
//
//   r = f32[8] all-reduce(x), replica_groups={}, to_apply=add      =>   p = f32[4] reduce-scatter(x), dimensions={0}, to_apply=add
//   p = f32[4] dynamic-slice(r, multiply(replica-id, 4))
//
// Each device of a group takes the part that has its place in the group: starts are computed for
// each device (lib/analysis/device_values.h). Less than a part may be left over, which is not
// reduced then. Between the two may be a reshape that leaves the dimension of the parts as it is;
// it comes last.
//
// Requires: nothing.  Leaves alone: all-reduces of several arrays, of constrained layouts, in
// groups of one device, or that something else reads; slices along several dimensions, or whose
// starts depend on more than the device.
#pragma once

#include "passes/collectives/collective_rewrite_pass.h"

namespace hlo {

class ReduceScatterCreator final : public CollectiveRewritePass {
 public:
  ReduceScatterCreator();
};

}  // namespace hlo
