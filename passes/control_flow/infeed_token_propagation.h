// Leads the tokens of infeeds and outfeeds out of loops and branches.
//
//   body: t = after-all()   i = infeed(t)   ROOT tuple(…)         body: i = infeed(token of the state)
//                                                        =>             ROOT tuple(…, token of i)
//   w = while(tuple(…))                                           w = while(tuple(…, after-all()))
//
// An infeed or outfeed whose token comes from nothing and goes nowhere is ordered by nothing but
// the place where it stands; when a loop is unrolled or a branch inlined, that is lost. Its token
// becomes part of the loop's state, of what a branch takes and returns; several of one computation
// follow each other. Loops inside of loops hand theirs on.
//
// Requires: nothing.  Ensures: no such infeed or outfeed is in a loop or branch but as below.
// Leaves alone: the entry; called functions (`call-inliner`); computations with several callers
// (`flatten-call-graph`); states that are no tuples; conditions of loops.
#pragma once

#include "passes/pass.h"

namespace hlo {

class InfeedTokenPropagation final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
