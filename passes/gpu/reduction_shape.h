// How reductions walk over memory, which decides how a GPU runs them.
//
//   f32[A,B]{1,0} reduce(f32[A,B,C]{2,1,0}), dimensions={2}     row: 1 x AB kept, C reduced
//   f32[A,C]{1,0} reduce(f32[A,B,C]{2,1,0}), dimensions={1}     column: A kept, B reduced, C kept
//
// The rules and numbers are XLA's for NVIDIA GPUs. Questions are O(rank).
#pragma once

#include <array>
#include <optional>
#include <span>

#include "lib/ir/module.h"
#include "lib/ops/shape_helpers.h"
#include "passes/rewrite.h"

namespace hlo {

struct ReductionShape {
  bool is_row = false;  // the elements of one result lie side by side
  std::array<int64_t, 3>
      sizes;  // row: reduced (a batch), kept, reduced; column: kept, reduced, kept
};

// None where neither what is reduced nor what is kept lies together, and for layouts unknown.
std::optional<ReductionShape> ReductionShapeOf(const Instruction& reduce);

// Whether a kernel that reduces by warps is faster than one that computes element by element.
bool IsFromOrToContiguousDims(const Instruction& reduce);

// How many elements one block reduces along the minor dimension without atomics, and how many rows
// of a batch.
int64_t RaceFreeBound(const ReductionShape& shape);
inline constexpr int64_t kRaceFreeBatch = 8;
bool IsRaceFree(const ReductionShape& shape);

// All inputs of a reduction, static, with elements and row-major.
bool HasPlainInputs(const Instruction& reduce);

// The array shape of result `i`.
Shape ResultOf(const Instruction& reduce, int i);

// Whether two reduced dimensions are neighbours.
bool ReducesNeighbours(const Instruction& reduce);

// `reduce` over `inputs` along other dimensions, with results of the shapes `results`.
Instruction* ReducedTo(const Instruction& reduce, std::span<Instruction* const> inputs,
                       std::span<const Shape> results, DimVec dimensions, Rewriter& rewriter);

// The same, with results of the shapes `results`, which hold the same elements in the
// same order in memory as those of `reduce`: where they differ, bitcasts follow.
Instruction* ReducedAs(const Instruction& reduce, std::span<Instruction* const> inputs,
                       std::span<const Shape> results, DimVec dimensions, Rewriter& rewriter);

// The results of a reduction one by one.
std::vector<Instruction*> ResultsOf(Instruction* reduce, Rewriter& rewriter);

}  // namespace hlo
