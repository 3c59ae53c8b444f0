// Puts blocks that are needed for a time each into one piece of memory, such that blocks which are
// needed at the same time do not overlap: linear scan over time, best fit among the holes. Where it
// leaves holes at the peak, the largest block first is tried as well; the smaller piece counts.
#pragma once

#include <cstdint>
#include <vector>

namespace hlo {

struct TimedBlock {
  int start = 0, end = 0;  // needed from and to, both included
  int64_t size = 0;        // positive
  int64_t offset = 0;      // the result
};

// Sizes are rounded up to `alignment`. Returns the size of the whole. O(n log n), with holes O(n^2)
// of at most 8192 blocks; blocks that start together, or are equally large, are placed in the order
// given.
int64_t PackIntervals(std::vector<TimedBlock>& blocks, int64_t alignment);

}  // namespace hlo
