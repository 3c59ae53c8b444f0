// Readers of a conditional that would not stay in its branches.
//
//   both branches { … tuple(copy(x)) },  c = conditional(…)
//   y = reshape(gte(c, 0)), z = negate(gte(c, 0))
//
// Each of `y` and `z` alone gains by moving to the copy that it reads. Both together share it,
// which loosens the ties, and the next time both would gain by moving out again.
#pragma once

#include <vector>

#include "passes/control_flow/branch_groups.h"

namespace hlo {

// Takes out of `groups`, which are to move in together, the readers that would then move out; what
// stands in the branches now gains `gain_out` by moving out. With `converts_move_out` conversions
// of elements alone are among them.
void DropReturningReaders(const Instruction& conditional, int64_t gain_out, bool converts_move_out,
                          std::vector<BoundaryGroup>& groups);

}  // namespace hlo
