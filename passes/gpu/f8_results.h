// What products of f8 take in of what follows them: which scales commute, the clamp before a
// conversion to f8, the largest magnitude.
#pragma once

#include "passes/gpu/library_config.h"
#include "passes/gpu/library_f8.h"
#include "passes/rewrite.h"

namespace hlo {

// Whether max(x, 0)·scale is max(x·scale, 0) for every number x, and so with 1 / scale where it
// divides: a finite constant above 0 whose inverse is one, too.
bool CommutesWithRelu(const Instruction& scale);

// Whether `clamp`, between broadcasts of constants, is to all that the f8 `type` holds.
bool IsClampedTo(const Instruction& clamp, ElementType type);

// The maximum of the magnitudes of a product, if that is what `reader` of it begins; else null.
Instruction* LargestOf(Instruction* reader, GemmEpilogue epilogue);

}  // namespace hlo
