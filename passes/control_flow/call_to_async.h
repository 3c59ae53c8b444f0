// Makes asynchronous pairs of calls that `async-to-call` has marked
// (passes/util/background_calls.h), and puts work between their halves.
//
//   m = call(x), to_apply=f, marked             s = async-start(x), calls=f
//   n = dot(a, b)                          =>   n = dot(a, b)
//   r = add(m, n)                               m = async-done(s)
//                                               r = add(m, n)
//
// In each computation with such pairs, what a start waits for comes first, then what waits for no
// done, as it stood; a done stands right before what reads it first. That is the computation's
// schedule. What has side effects, draws random numbers or meets other devices keeps its order.
// The computation that is called, and all it calls, moves to the thread of the mark; the thread
// `main` of a mark means any, and is called `background`.
//
// Requires: flatten-call-graph.  Ensures: no call is marked.
// Leaves alone: a call beside which nothing else runs, which becomes a call like others unless the
// mark says background="true"; calls whose computation others call, too.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CallToAsync final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
