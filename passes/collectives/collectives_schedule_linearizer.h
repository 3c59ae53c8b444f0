// Puts the collectives of each computation in one order by control edges, so that all devices meet
// them in the same order whatever a scheduler does.
//
//   a = all-reduce(x);  b = all-reduce(y)
//       =>   b = all-reduce(y), control-predecessors={a}
//
// The order is the post-order. Of an asynchronous collective the next one waits for the done.
//
// Requires: nothing.  Leaves alone: two of which one needs the other anyway; as XLA, permutations,
// what runs in an async-start, and bodies of composite operations.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CollectivesScheduleLinearizer final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
