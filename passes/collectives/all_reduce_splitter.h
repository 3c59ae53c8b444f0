// Reduces in two steps where only a part is wanted in between.
//
//   r = f32[8] all-reduce(x), replica_groups={{0,1,2,3}}        =>   q = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}
//   p = f32[4] dynamic-slice(r, (replica-id % 2) * 4)                d = f32[4] dynamic-slice(q, (replica-id % 2) * 4)
//                                                                    p = f32[4] all-reduce(d), replica_groups={{0,2},{1,3}}
//
// The first step with the slice is a reduce-scatter (`reduce-scatter-creator`), the second one
// carries less. Done only where another all-reduce of the computation has the groups of one of the
// steps: the two may then be combined.
//
// Requires: nothing.  Leaves alone: all-reduces of several groups, of several arrays, that
// something else reads; slices of which each device of the group takes another part, or of which
// one part is taken more often than another.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AllReduceSplitter final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
