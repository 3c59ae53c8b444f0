// Where the program needs most memory, and what it holds then: values that are needed at one time
// (live_range.h), each by itself and whole, arguments and constants included.
//
//   e = exponential(x)   n = negate(e)   r = add(n, x)     f32[4] each: 48 bytes at `n`, for x, e, n
//
// That of a schedule where there is one, else of the post-order. O(values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/analysis/live_range.h"
#include "lib/analysis/values.h"

namespace hlo {

struct ProgramPeak {
  int64_t bytes = 0;
  int time = 0;                     // the first such time
  const Instruction* at = nullptr;  // what runs then
  std::vector<ValueId> values;      // arrays, in the order in which they are made
};

ProgramPeak PeakOf(const Values& values, const LiveRanges& ranges);

// The peak, then a line for each value.
std::string ProgramPeakToString(const Module& module);

}  // namespace hlo
