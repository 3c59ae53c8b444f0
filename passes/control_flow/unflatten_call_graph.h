// Lets calls of equal computations call one of them: undoes what `flatten-call-graph` did to calls.
//
//   c = call(x), to_apply=f,  d = call(y), to_apply=f.clone      =>   d = call(y), to_apply=f
//
// Computations are equal when they are the same but for names; what comes from other places of the
// source program is not, as in XLA.
//
// Requires: nothing.  Ensures: computations that nobody calls any more are gone.
// Leaves alone: what calls a computation otherwise (loops, conditionals, fusions, reductions, …);
// computations with constants that are elided, which look equal and need not be.
#pragma once

#include "passes/pass.h"

namespace hlo {

class UnflattenCallGraph final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
