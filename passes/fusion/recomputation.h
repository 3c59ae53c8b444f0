// How often a fusion would compute a reduction of its body again.
#pragma once

#include <cstdint>
#include <utility>

#include "lib/ir/instruction.h"

namespace hlo {

// The reduction of `fusion` that is computed most often, and how often for each of its elements.
//
// The loops of a kernel run over the largest output, row-major, and inside them over what
// reductions reduce. With `keeps_values`, a reduction is computed where the innermost loop that
// its index depends on begins its next iteration, and kept in the loops inside of that; it is
// computed again by loops outside that its index does not depend on. Else each element that
// reads it computes it, as always a reduction of windows:
//
//   (d0, d1) -> sum of row d0            keeps_values: once         else: as often as there are d1
//   (d0, d1) -> sum of column d1         as often as there are d0   the same
//
// Null and 0 where there is no reduction. What cannot be told (an index that is data) counts as an
// index that depends on all loops, that is, as computed once.
std::pair<const Instruction*, int64_t> MostRecomputed(const Instruction& fusion, bool keeps_values);

}  // namespace hlo
