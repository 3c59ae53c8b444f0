// Sends what a selection by device gives on the devices that send.
//
//   collective-permute(select(broadcast(partition-id() == 3), x, y)), source_target_pairs={{3,0}}
//     =>   collective-permute(x), source_target_pairs={{3,0}}
//
// The condition compares what is known of every device (lib/analysis/device_values.h) and says the
// same on all devices that send.
//
// Requires: nothing.  Leaves alone: permutes of several arrays, or without pairs; selections by
// elements; devices beyond the limit of lists (lib/analysis/device_groups.h).
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class CollectiveSelectFolder final : public RewritePass {
 public:
  CollectiveSelectFolder();
};

}  // namespace hlo
