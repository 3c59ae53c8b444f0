// backends/gpu/emit/families/tile_sort.h
//
// Sorts what fits into the shared memory of a block, by a bitonic network: stable, and the same
// steps for all threads. Internal to emit/: includes LLVM headers.
#pragma once

#include <functional>
#include <vector>

#include "backends/gpu/emit/core/frame.h"

namespace hlo::gpu {

// Whether the elements `a` of all arrays come before the elements `b`.
using ComesBefore = std::function<absl::StatusOr<llvm::Value*>(
    GpuFusionEmitter&, const EmittedList& a, const EmittedList& b)>;

struct TileSort {
  int tile = 0;  // elements of a block, which has half as many threads
  // Elements that are sorted together, a power of 2 up to `tile`: a block has several segments, or
  // one.
  int segment = 0;
  std::vector<ElementType> types;
  ComesBefore before;
  // Of place `local` of the block: whether there is an element, and which; those that are not there
  // end up last in their segment.
  std::function<llvm::Value*(llvm::Value* local)> valid;
  std::function<absl::StatusOr<EmittedList>(llvm::Value* local)> load;
  // Takes what came to `local`, also where it is nothing.
  std::function<absl::Status(llvm::Value* local, const EmittedList&)> store;
};

// The tile for arrays of these types, all of which lie in shared memory.
int SortTileFor(absl::Span<const ElementType> types);
// The segment for lines of `length` elements.
int SortSegmentFor(int64_t length, int tile);
// Writes the body of a kernel with blocks of `tile` / 2 threads.
absl::Status EmitTileSort(GpuFusionEmitter& emitter, const TileSort& sort);

}  // namespace hlo::gpu
