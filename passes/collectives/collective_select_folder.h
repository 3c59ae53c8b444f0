// Sends what a selection by device gives on the devices that send.
//
//   collective-permute(select(broadcast(partition-id() == 3), x, y)), source_target_pairs={{3,0}}
//     =>   collective-permute(x), source_target_pairs={{3,0}}
//
// The condition says whether the partition, or for permutes without a channel the replica, is a
// constant or is not, the same on all devices that send.
//
// Requires: nothing.  Leaves alone: other conditions, permutes without pairs, and the selection
// before the one that is folded.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class CollectiveSelectFolder final : public ComputationPass {
 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
