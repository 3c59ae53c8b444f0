// Which reductions may stand inside a kernel whose other instructions use their values.
#pragma once

#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

// Whether `reduce` may join instructions that end with `root`, as part of loops over its elements:
// it reduces whole rows, each is computed once for its row of the root, and stays in a cache.
bool ReduceMayJoinLoops(const Instruction& reduce, const Instruction& root);

// The same for a kernel whose rows belong to some threads each (row_fusion.h), with reductions
// of rows of `row_size` elements (0: none). The root may have one element for each row, when
// there is more than one reduction to save reading the row for.
bool ReduceMayJoinRows(const Instruction& reduce, const Instruction& root, int64_t row_size);

// Whether such a kernel may store `value`, an elementwise operation or a reduction, besides its
// root: it has an element for each element or for each row. Where the kernel has no reduction yet,
// one must be near by that may join with the value.
bool MayBeOutputOfRows(const Instruction& value, const Instruction& root, int64_t row_size);

// Whether one of them moves elements to other rows, or along them.
bool MovesElements(const std::vector<Instruction*>& instructions);

}  // namespace hlo
