// Starts and dones of collectives that have some of their own, as async-start and async-done of the
// collective: one form for who runs them beside other work.
//
//   s = f32[4] all-reduce-start(x), to_apply=add
//   r = f32[4] all-reduce-done(s)
//       =>   s = ((f32[4]), f32[4]) async-start(x), calls={ all-reduce }
//            r = f32[4] async-done(s)
//
// The start is where it was, and so is the done; control edges and what is said of them stay. The
// collective in the computation has the name of what started it, which tells where it came from.
//
// Requires: nothing.  Ensures: no all-gather-start, all-reduce-start or collective-permute-start is
// left but those left alone.
// Leaves alone: starts that something else than one done reads.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CollectiveStartsToAsync final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
