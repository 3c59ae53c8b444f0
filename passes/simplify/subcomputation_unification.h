// Makes equal computations one.
//
//   f { ROOT add(p0, p1) }   g { ROOT add(p0, p1) }
//   reduce(x, zero), to_apply=f;  reduce(y, zero), to_apply=g      =>   both with to_apply=f, g is gone
//
// Equal: the same graph with the same shapes, layouts and attributes; names, metadata and the
// order of unrelated instructions do not count, callees are compared the same way. The first
// one in the module stays. The entry takes part: when it equals an earlier computation, that
// becomes the entry.
//
// Requires: nothing.  Ensures: no two computations are equal.
// Leaves alone: fusion bodies and computations of asynchronous operations (one caller each),
// computations with elided constants. Near-linear: candidates meet in a hash table, callees are
// compared by what replaced them.
#pragma once

#include "passes/pass.h"

namespace hlo {

class SubcomputationUnification final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
