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
// Option `background_us`: a call that takes as many microseconds on the CPU by the cost analysis,
// one that makes a custom call, and one that meets other devices, is marked for `call-to-async`,
// which takes it up when all other passes have seen a plain call (passes/util/background_calls.h).
// The frontend attribute `background` of the async-start decides first: "true" marks, "false" does
// not. Never marked is what draws random numbers, or sends, receives or talks to the host by a
// channel of its own: it stays in its place among others of its kind. -1: none is marked.
//
// Requires: nothing.  Ensures: no async-start, async-update or async-done is left; what they called
// runs on thread `main`.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct AsyncToCallOptions {
  int64_t background_us = -1;

  HLO_OPTIONS(AsyncToCallOptions, background_us)
};

class AsyncToCall final : public WithOptions<Pass, AsyncToCallOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
