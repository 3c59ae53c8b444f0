// backends/gpu/emit/core/column_reduction.h
//
// Reductions whose results are neighbours in memory when their elements are not: columns.
//
//   a block    `side_by_side` vectors of results times `parts` threads for each, which take every
//              `parts`th element and meet in shared memory
//   the grid   tiles of columns along one axis; along the other the elements are split, for enough
//              blocks to fill the machine. Splits give results of their own, to be combined by
//              another kernel
//
// The order in which elements are combined follows from these numbers alone. Internal: includes
// LLVM headers.
#pragma once

#include <functional>

#include "backends/gpu/emit/core/frame.h"
#include "backends/gpu/emit/core/reducer.h"

namespace hlo::gpu {

// Results lie in `pieces` stretches of `columns` vectors each; every result combines `elements`.
struct ColumnSizes {
  int64_t pieces = 1;
  int64_t columns = 1;
  int lanes = 1;  // results of a vector
  int64_t elements = 1;
};

struct ColumnGrid {
  int side_by_side = 1;
  int parts = 1;
  int64_t splits = 1;
};
// With at least `blocks` blocks, where there is work for them.
ColumnGrid ColumnGridFor(const ColumnSizes& sizes, int64_t blocks);
// Without splits: of few elements, which a cache holds.
ColumnGrid ColumnGridOfTotals(const ColumnSizes& sizes);

// Lists are those of the first result of a vector, then of the second, …: of `types` each.
struct ColumnReduction {
  ColumnSizes sizes;
  std::vector<ElementType> types;
  // The inputs for element `element` of the vector of results number `column`.
  std::function<absl::StatusOr<EmittedList>(llvm::Value* column, llvm::Value* element)> input;
  CombineValues combine;
  int ahead = 1;  // inputs that are read before the first is waited for
  std::function<absl::Status(llvm::Value* column, llvm::Value* split, const EmittedList&)> store;
};

int ColumnBlockThreads(const ColumnGrid& grid);
// Writes the body of a kernel with blocks of so many threads.
absl::Status EmitColumns(KernelBuilder& kernel, const ColumnGrid& grid,
                         const ColumnReduction& reduction);
void AddColumnLaunch(const GpuFrame& frame, int kernel, const ColumnGrid& grid,
                     const ColumnSizes& sizes, KernelPlan& plan);

}  // namespace hlo::gpu
