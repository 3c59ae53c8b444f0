// backends/gpu/emit/sort.h
//
// Stable merge sort of the lines of arrays, for the families that need one. Internal to this folder:
// includes LLVM headers.
#pragma once

#include <functional>
#include <vector>

#include "backends/gpu/emit/frame.h"

namespace hlo::gpu {

struct MergeSort {
  int64_t length = 0;  // of a line
  int64_t stride = 1;  // from an element of a line to the next
  int64_t count = 0;   // elements of each array
  // Whether the elements `a` of all arrays come before the elements `b`.
  std::function<absl::StatusOr<llvm::Value*>(FusedEmitter&, const EmittedList& a,
                                             const EmittedList& b)>
      before;
};

// Launches that a line of `length` elements takes.
int64_t MergePasses(int64_t length);
// Sorts the arrays in buffers `from` into `to`, by way of `scratch` (of the same types; not used when
// there are fewer than two passes). There is at least one pass.
absl::Status AddMergeSort(const MergeSort& sort, const Frame& frame, const std::vector<int>& from,
                          const std::vector<int>& to, const std::vector<int>& scratch,
                          KernelPlan& plan);

}  // namespace hlo::gpu
