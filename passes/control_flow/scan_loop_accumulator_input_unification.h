// Lets inner loops write their results over the input that they read, where the loop around hands
// them the results as the input of its next iteration.
//
//   outer body {
//     z = broadcast(0), w = while(tuple(0, gte(q, 1), z)), i < n, body {
//       x = dynamic-slice(gte(p, 1), i, 0), sizes={1,…}
//       tuple(i + 1, gte(p, 1), dynamic-update-slice(gte(p, 2), f(x), i, 0)) }
//     tuple(…, gte(w, 2)) }                                    element 1 of the loop around
//   =>   w = while(tuple(0, gte(q, 1))), i < n, body {
//       x = dynamic-slice(gte(p, 1), i, 0)
//       tuple(i + 1, dynamic-update-slice(gte(p, 1), f(x), i, 0)) }
//
// All of the result is written, row `i` in iteration `i`, so what it starts with does not matter;
// and when row `i` is written, all rows of the input that are still to be read are there. What
// reads the input after the loop reads what the loop began with. This saves making and copying the
// accumulator each time.
//
// Requires: nothing.  Ensures: `tuple-simplifier` has run if anything changed.
// Leaves alone: loops that are in no body of a loop; counters that do not go from 0 by 1 to the
// size of the dimension; rows along different dimensions, or more than one row at a time; inputs
// that the loop around uses elsewhere; accumulators that it carries; inputs and accumulators that
// are used in another way, by the condition or in the body; loops with control edges, whose state
// is not built by `tuple`, or whose computations others call, too, or do not read element by
// element.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ScanLoopAccumulatorInputUnification final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
