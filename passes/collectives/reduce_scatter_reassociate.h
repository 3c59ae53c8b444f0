// Combines before it scatters, so that devices talk once.
//
//   add(reduce-scatter(x), reduce-scatter(y)), both to_apply=add      =>   reduce-scatter(add(x, y)), to_apply=add
//
// The new one has a channel of its own; it is in the scheduling group of the two if both are in it.
//
// Requires: nothing.  Leaves alone: reduce-scatters that differ in more than their channel, that
// something else reads, that are in different scheduling groups, or that combine by another
// operation, or the bits of integers; several arrays at once; modules with a reduce-scatter that
// constrains layouts.
#pragma once

#include "passes/collectives/collective_rewrite_pass.h"

namespace hlo {

class ReduceScatterReassociate final : public CollectiveRewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  ReduceScatterReassociate();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
