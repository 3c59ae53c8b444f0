// Reduces in two steps where only a part is wanted in between.
//
//   r = f32[8] all-reduce(x), replica_groups={{0,1,2,3}}        =>   q = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}
//   p = f32[4] dynamic-slice(r, (partition % 2) * 4)                 d = f32[4] dynamic-slice(q, (partition % 2) * 4)
//                                                                    p = f32[4] all-reduce(d), replica_groups={{0,2},{1,3}}
//
// The first step with the slice is a reduce-scatter (`reduce-scatter-creator`), the second one
// carries less. Done only where another all-reduce of the computation has the groups of one of the
// steps: the two may then be combined. Both steps have channels of their own.
//
// Requires: nothing.  Leaves alone: all-reduces of anything but all partitions of a module with one
// replica, of several arrays, of constrained layouts, that something else reads; slices that
// several instructions read; parts that devices beside each other do not take in order.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AllReduceSplitter final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
