// Makes one collective of a start and its done between which the schedule has nothing to do.
//
//   s = f32[4] all-reduce-start(x), to_apply=add
//   r = f32[4] all-reduce-done(s)
//       =>   r = f32[4] all-reduce(x), to_apply=add, frontend_attributes={async_collective_name="s"}
//
// Parameters, constants, bitcasts, elements of tuples and other pairs are nothing to do. The
// collective stands where the done stood; control edges and shardings of the pair go, for all that
// they are for has been decided.
//
// Requires: a schedule; a module without one is left alone.
// Leaves alone: pairs with other work in between, chains with updates, what is no collective.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvertAsyncCollectivesToSync final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
