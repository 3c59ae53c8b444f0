// What a device needs of its neighbours: a range of an array along one dimension that begins and
// ends elsewhere than its tile.
//
//   tiles of 4 of x[8], ranges of 6 from 4 * i - 1:    device 0: f x0 … x4;   device 1: x3 … x7 f
#pragma once

#include <vector>

#include "passes/spmd/spmd_code.h"

namespace hlo {

struct TileRanges {
  std::vector<int64_t> first;  // by device; may lie outside of the array
  int64_t size = 0;            // of all of them
};

// Whether the ranges are of few neighbours along `d`: else all may be gathered as well.
bool AreNear(const Placement& placement, Shape whole, int64_t d, const TileRanges& ranges);
// Bytes that a device receives of them.
int64_t NeighbourBytes(const Placement& placement, Shape whole, int64_t d,
                       const TileRanges& ranges);
// The ranges, of tiles that are placed so, from the neighbours by collective-permutes; `fill` (a
// scalar) stands outside of the array.
Instruction* TakeRanges(SpmdCode& code, Instruction* tile, const Placement& placement, Shape whole,
                        int64_t d, const TileRanges& ranges, Instruction* fill);

}  // namespace hlo
