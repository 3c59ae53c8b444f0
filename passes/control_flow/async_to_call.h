// Runs asynchronous operations where they are complete: for platforms that do one thing at a time.
//
//   s = ((f32[4]), f32[4], s32[]) async-start(x), calls=f           c = f32[4] call(x), to_apply=f
//   d = f32[4] async-done(s)                                  =>    d = c
//
// The call stands at the step of the chain that binds the last operand and the whole result, or at
// the async-done when no step before it does. What travels along the chain keeps its shape, a tuple
// of operands, result and contexts, so chains may run through loops, branches and calls; parts that
// are not known yet are zeros. Control edges of a step move to its call.
//
// Requires: nothing.  Ensures: no async-start, async-update or async-done is left; what they called
// runs on thread `main`.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AsyncToCall final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
