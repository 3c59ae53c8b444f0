// Makes one all-reduce of two that follow each other.
//
//   r = all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add
//   s = all-reduce(r), replica_groups={{0,2},{1,3}}, to_apply=add     =>   s = all-reduce(x), replica_groups={{0,1,2,3}}
//
// Together they must bring each value of a device exactly once to each device of the new groups.
//
// Requires: nothing.  Leaves alone: all-reduces by different operations or kinds of ids, those that
// something else reads, several arrays at once.
#pragma once

#include "passes/collectives/collective_rewrite_pass.h"

namespace hlo {

class AllReduceFolder final : public CollectiveRewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  AllReduceFolder();
};

}  // namespace hlo
