// backends/gpu/emit/families/sort.h
//
// Stable merge sort of the lines of arrays, for the families that need one. Internal to this
// folder: includes LLVM headers.
#pragma once

#include <vector>

#include "backends/gpu/emit/families/tile_sort.h"

namespace hlo::gpu {

struct MergeSort {
  int64_t length = 0;  // of a line
  int64_t stride = 1;  // from an element of a line to the next
  int64_t count = 0;   // elements of each array
  std::vector<ElementType> types;
  ComesBefore before;
};

// In the place of a buffer to sort: the position of each element in its line.
inline constexpr int kPositions = -1;
// A position as an element of an integer type that holds it.
Emitted PositionAs(KernelBuilder& k, ElementType type, llvm::Value* position);

// Merging launches that the sort takes, after the one that sorts tiles.
int64_t MergePasses(const MergeSort& sort);
// Sorts the arrays in buffers `from` into `to`, by way of `scratch` (of the same types; not used
// when nothing is merged).
absl::Status AddMergeSort(const MergeSort& sort, const GpuFrame& frame,
                          const std::vector<int>& from, const std::vector<int>& to,
                          const std::vector<int>& scratch, KernelPlan& plan);

}  // namespace hlo::gpu
