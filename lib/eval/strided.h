// lib/eval/strided.h
//
// Moving elements between dense arrays by strides: transpose, broadcast, slice, reverse, pad,
// concatenate and every window of gather, scatter and dynamic-slice are one loop with different
// strides.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/types/layout.h"
#include "lib/types/shape_util.h"

namespace hlo {

// A box of elements: for every index i < dims, to[Σ i·to_strides] = from[Σ i·from_strides]. Strides
// are in elements and may be zero or negative.
struct StridedCopy {
  DimVec dims;
  DimVec from_strides;
  DimVec to_strides;
};

// Runs the copy on elements of `bytes` (1, 2, 4, 8 or 16) bytes.
void RunStridedCopy(const StridedCopy& copy, int bytes, const uint8_t* from, uint8_t* to);

// Sets `count` elements to the one at `value`.
void FillElements(const uint8_t* value, int bytes, uint8_t* to, int64_t count);

// The sum of index·strides.
int64_t Offset(absl::Span<const int64_t> index, absl::Span<const int64_t> strides);

// Σ i·strides for every index below `dims`, in row-major order.
std::vector<int64_t> AllOffsets(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides);

// to[i] = from[offsets[i]], and the other way, in elements of `bytes` bytes.
void GatherElements(int bytes, const uint8_t* from, const int64_t* offsets, int64_t count,
                    uint8_t* to);
void ScatterElements(int bytes, const uint8_t* from, const int64_t* offsets, int64_t count,
                     uint8_t* to);

// Calls fn(offset) with Σ i·strides for every index below `dims`, in row-major order.
template <class Fn>
void ForEachOffset(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, Fn&& fn) {
  for (int64_t d : dims) {
    if (d == 0) return;
  }
  const int rank = static_cast<int>(dims.size());
  DimVec index(dims.size(), 0);
  int64_t offset = 0;
  while (true) {
    fn(offset);
    int d = rank - 1;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < dims[d]) break;
      offset -= strides[d] * dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace hlo
