// Makes conditionals carry and decide less.
//
//   conditional(true, x, y)               =>   the first branch on x
//   conditional(p, x, y), cheap branches  =>   select(p, <first branch on x>, <second branch on y>)
//
// In this order, for each conditional:
//   1. Elements of the result that are the same value in every branch become one.
//   2. Elements of the result that nobody reads go.
//   3. A result that nobody reads becomes ().
//   4. A conditional with one branch, or with a constant index, becomes that branch (a number out
//      of range: the last one). One on a predicate with two cheap branches (elementwise operations,
//      constants, broadcast, concatenate, dynamic-slice, reduce, reshape, pad, slice and tuples)
//      runs both and selects.
// At last, for all:
//   5. Elements of a branch's tuple parameter that the branch does not read go.
//
// Requires: nothing.  Leaves alone: conditionals that run asynchronously, with shardings, with
// sends, receives or other instructions on channels in a branch; in 4 those with control edges,
// with side effects, or of a scheduling group, and branches that only pass arrays on, which cost
// nothing; branches that `inlineable="false"` keeps as calls. Unused computations are left to
// `dce`.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConditionalSimplifier final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
