// Gives every call site a computation of its own, so that the call graph becomes a tree.
//
//   w1 = while(a), condition=c, body=b           w1 = while(a), condition=c, body=b
//   w2 = while(d), condition=c, body=b      =>   w2 = while(d), condition=c.clone, body=b.clone
//
// Every kind of call counts: while, conditional, call, async-start, fusion, reduce, sort, … The
// first call site (by id) keeps the computation, the others get clones of it and of all that it
// calls; where one instruction names it several times, each of them gets one. Schedules are cloned
// along.
//
// Requires: nothing.  Ensures: every computation but the entry has at most one call site.
// Leaves alone: with `skip_calls`, computations that are called by `call` only.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct FlattenCallGraphOptions {
  bool skip_calls = false;

  HLO_OPTIONS(FlattenCallGraphOptions, skip_calls)
};

class FlattenCallGraph final : public WithOptions<Pass, FlattenCallGraphOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
