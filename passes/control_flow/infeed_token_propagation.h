// Leads the tokens of infeeds and outfeeds out of loops and branches.
//
//   body: t = after-all()   i = infeed(t)   ROOT tuple(…)         body: i = infeed(token of the state)
//                                                        =>             ROOT tuple(…, token of i)
//   w = while(tuple(…))                                           w = while(tuple(…, after-all()))
//
// A chain of infeeds, or of outfeeds, whose token comes from nothing and goes nowhere is ordered by
// nothing but the place where it stands; when a loop is unrolled or a branch inlined, that is lost.
// Its token becomes part of the loop's state, or of what the branch takes and all branches return,
// and so on outwards. Where a chain of the same kind stands before or after the loop, the two
// become one. Values that are no tuples become tuples of one element first. Ends with
// `tuple-simplifier` and `dce`.
//
// Requires: computations with one caller around such chains (`flatten-call-graph`).  Ensures: no
// such chain is in a loop or branch but as below.  Errors: one in what is called more than once.
// Leaves alone: the entry; called functions (`call-inliner`); loops and conditionals with
// shardings; conditions of loops; infeeds and outfeeds with a config; modules with domains in loops
// or branches; all but the first such chain of a kind in a computation.
#pragma once

#include "passes/pass.h"

namespace hlo {

class InfeedTokenPropagation final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
