// lib/eval/wide_region.h
//
// Regions of several operations on floats under 32 bits, computed in f32: what a reduction of one
// array by such a region carries is rounded once, at the end, as sums and products are
// (accumulation.h). In steps, maximum(add(a, b), b) of ones ends at 256 in bf16.
//
//   reduce(bf16[1000] x, z), to_apply={ maximum(add(a, b), b) }
//     =   convert(f32[] reduce(convert(x), convert(z))), to_apply={ the same in f32 }
//
// XLA's CPU rounds each step of them, but adds in blocks of 32 (tree_reduction_rewriter), so that
// its values are near to these where the region is associative. Regions that change the element
// type, and those of several arrays, mean what they say.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Whether the reduction carries more than it stores for that reason.
bool HasWideRegion(const Instruction& reduce);

// The region of such a reduction in f32, added to `module`.
Computation* AddWideRegion(Module& module, const Computation& region);

}  // namespace hlo
