// Operations as loops: along a dimension that runs, each device may do its part alone, or, where
// the operation sums over it, make a part of the sum.
//
//   dot {1}x{0}       rows run in the left operand and the result, columns in the right one and the
//                     result; what is contracted runs in both operands and is summed
//   sort along 1      dimension 0 runs in all operands and results
//
// How the runs are divided is chosen among the ways operands and result are divided: the one that
// moves the least.
#pragma once

#include <functional>
#include <vector>

#include "passes/spmd/partitioner.h"

namespace hlo {

struct RunningDim {
  std::vector<int64_t> in;  // the dimension of each operand; -1: it has none
  int64_t out = -1;         // of the result, of every element if that is a tuple; -1: summed
};

struct RunningOp {
  std::vector<RunningDim> dims;  // all others stay whole
  // What is put into the part of operand i that is beyond the array along a summed dimension: a
  // scalar; and how partial sums are combined.
  std::function<Instruction*(SpmdCode&, int i)> filler;
  Computation* combiner = nullptr;
  // The operation on parts of the operands, giving a part (parts, in a tuple) of this shape.
  std::function<Instruction*(Partitioner&, std::vector<Instruction*> operands, Shape part)> build;
};

// A row that says that dimension `in` of operand `operand` runs along with dimension `out`.
RunningDim RunsAlong(const Instruction& old, int operand, int64_t in, int64_t out);
// Without `build`, a copy of `old` for the parts.
absl::StatusOr<Parts> DivideRuns(Partitioner& partitioner, const Instruction& old, RunningOp op);

}  // namespace hlo
