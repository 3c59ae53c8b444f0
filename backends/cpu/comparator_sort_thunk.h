// sort by any comparator: a stable merge sort of row numbers that calls the compiled comparator,
// then one pass that moves the elements of each operand.
#pragma once

#include <memory>

#include "backends/common/thunk.h"
#include "backends/cpu/kernel_code.h"
#include "backends/cpu/library_thunks.h"

namespace hlo::cpu {

// `comparator`: as EmitComparator (families/family.h) makes it. An order that contradicts itself
// gives some permutation.
std::unique_ptr<Thunk> MakeComparatorSortThunk(const Instruction& sort, const ThunkBuffers& buffers,
                                               KernelCode comparator, int threads);

}  // namespace hlo::cpu
