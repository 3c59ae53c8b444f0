// Operations as loops: along a dimension that runs, each device may do its part alone, or, where
// the operation sums over it, make a part of the sum.
//
//   dot {1}x{0}       rows run in the left operand and the result, columns in the right one and the
//                     result; what is contracted runs in both operands and is summed
//   sort along 1      dimension 0 runs in all operands and results
//
// How the runs are divided is chosen among the ways operands and result are divided: the one that
// moves the least; of those with as many tiles, by the fewest collectives if they are small.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "passes/spmd/partitioner.h"

namespace hlo {

struct RunningDim {
  std::vector<int64_t> in;  // the dimension of each operand; -1: it has none
  int64_t out = -1;         // of the result, of every element if that is a tuple; -1: summed
  // Where an element of the result needs several of the operands, or another one: element i those
  // from first + i * stride on, counted with `dilation` - 1 places between the elements of the
  // operand. What lies outside of the operand is the filler. Where it is summed, elements are those
  // of the operands that have the dimension as it is.
  struct Reads {
    int64_t first = 0;
    int64_t stride = 1;
    int64_t count = 1;
    int operands = 1;  // the first ones; others have the dimension as it is
    int64_t dilation = 1;
  };
  std::optional<Reads> reads;
  // Dimensions, maybe of other sizes, that belong together in so many groups, which no tile cuts;
  // 0: there are none.
  int64_t groups = 0;
  // Elements that a part is to have.
  int64_t least = 0;
};

// Places around the elements that a part reads, where it reads from or to a place between two.
struct ReadEdges {
  int64_t low = 0;
  int64_t high = 0;
};
// Of a part of `part` elements.
ReadEdges EdgesOf(const RunningDim::Reads& reads, int64_t part);

// How operation and operands are divided.
struct DividedRun {
  Placement loops;              // over the running dimensions
  Placements operands;          // null: no array
  Placements results;           // of each element, if that is a tuple
  std::vector<int64_t> summed;  // loops that are divided and summed

  const Placement& result() const { return *results[0]; }
};

struct RunningOp {
  std::vector<RunningDim> dims;  // all others stay whole
  // What is put into the part of operand i that is beyond the array, along dimensions that are
  // summed or where more is read: a scalar. Without it, what is there does not matter.
  std::function<Instruction*(SpmdCode&, int i)> filler;
  // How partial sums are combined; of several results, by `combine`.
  Computation* combiner = nullptr;
  std::function<Instruction*(Partitioner&, Instruction* partial, const GroupsOfDevices& groups)>
      combine;
  // The operation on parts of the operands, giving a part (parts, in a tuple) of this shape. Along
  // dimensions that are divided operands have just what the part reads.
  std::function<Instruction*(Partitioner&, std::vector<Instruction*> operands, Shape part,
                             const DividedRun& run)>
      build;
};

// A row that says that dimension `in` of operand `operand` runs along with dimension `out`.
RunningDim RunsAlong(const Instruction& old, int operand, int64_t in, int64_t out);
// The dimensions of which `runs` holds, in the operands below `operands` and the result.
RunningOp RunsWhere(const Instruction& old, int operands, const std::function<bool(int64_t)>& runs);
// Of the best way to divide them: bytes moved, for the most part.
int64_t CostOfRuns(Partitioner& partitioner, const Instruction& old, const RunningOp& op);
// Without `build`, a copy of `old` for the parts.
absl::StatusOr<Parts> DivideRuns(Partitioner& partitioner, const Instruction& old, RunningOp op);

}  // namespace hlo
