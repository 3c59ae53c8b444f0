// Makes one collective of every start and its done, whatever stands between them: for platforms
// that compute nothing while devices exchange.
//
//   s = f32[4] all-reduce-start(x), to_apply=add
//   r = f32[4] all-reduce-done(s)
//       =>   r = f32[4] all-reduce(x), to_apply=add, frontend_attributes={async_collective_name="s"}
//
// Tuples, copies, barriers and the like may hand on what is under way; they go where nothing else
// needs them. Calls of `control_dep` that ask for an order with one of the halves go.
//
// Requires: nothing.  Ensures: no pair is left but those left alone.
// Leaves alone: chains with updates, pairs with something in between that control edges keep there,
// pairs with a `control_dep` that something reads, what is no collective.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AsyncCollectiveReplacer final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
