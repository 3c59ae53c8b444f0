// Moves permutes between devices from the end of one iteration to the beginning of the next.
//
//   body: i = gte(p, 0), x = gte(p, 1), … tuple(add(i, 1), collective-permute(f(x)))
//     =>   body: y = collective-permute(x), first = broadcast(i == INIT), z = select(first, x, y)
//                … tuple(add(i, 1), f(z))
//
// There the permute of what the previous iteration gave can be matched with, and hidden behind,
// work of this one. Up to 8 elementwise operations between the permute and the end of the body move
// with it; beside the one array they read what is the same in all iterations.
//
// Requires: nothing.  Ensures: nothing.
// Leaves alone: elements that are read after the loop, or by its condition; permutes at the
// beginning of the body; values with other readers in the body; instructions with control edges;
// loops that do not count by a constant from a constant, that read the counter at several places,
// or whose counter may come back to where it began; whose state is not built by `tuple`, or whose
// computations others call, too, or do not read element by element.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CollectivePermuteMotion final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
