// Writes conditionals in computations that are run per element as selects: code generators
// cannot branch there.
//
//   map(x), to_apply={ c = f32[] conditional(p, a, b), … }
//       =>   map(x), to_apply={ c = f32[] select(p, <body of the first branch on a>, <of the second on b>) }
//
// Such computations are those of map, reduce, reduce-window, scatter, select-and-scatter, sort,
// collectives and fusions, and what these call. The index is a predicate, or s32 with two branches
// (all numbers but 0 take the second one).
//
// Requires: nothing.  Leaves alone: computations that are also reached by control flow, or not from
// the entry; more than two branches, results that are tuples, branches with side effects,
// conditionals with control edges. Branch computations that nobody calls any more go.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConditionalToSelect final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
