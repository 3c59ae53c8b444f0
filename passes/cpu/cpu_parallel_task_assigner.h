// Says into how many parts the outer dimensions of a loop are to be divided among threads.
//
//   r = f32[4096,4096] exponential(x)
//     =>   r = f32[4096,4096] exponential(x), backend_config={"outer_dimension_partitions":["2"]}
//
// The number of parts follows from the cost (lib/analysis/cost.h): one for every 256 KiB of memory
// where memory is what it waits for (no more operations than bytes), at most as many as the root
// of the number of threads, rounded up; else one for every 100000 units, an operation counting 1,
// a transcendental one 2 and a byte 10. Dimensions are divided from the outermost on until there
// are enough parts. With `outline` each such instruction gets a computation of its own, as the
// first versions of XLA had it, whose root says the parts:
//
//   r = f32[4096,4096] call(x), to_apply=parallel_r { ROOT r.1 = exponential(p.0), … }
//
// Requires: nothing.  Leaves alone: all but the entry, bodies of loops, branches and called
// computations; what is no loop over elements (dots, sorts, scatters, library convolutions, calls,
// …), random numbers, constants, updates in place, tuples other than of loop fusions, and
// instructions with partitions already. Our CPU platform divides loops by itself and does not read
// this; the pass is for dumps that other compilers read.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct CpuParallelTaskAssignerOptions {
  IntIn<0> max_parallelism;  // threads; 0: one for each processor
  bool outline = false;

  HLO_OPTIONS(CpuParallelTaskAssignerOptions, max_parallelism, outline)
};

class CpuParallelTaskAssigner final : public WithOptions<Pass, CpuParallelTaskAssignerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

// Counts of parts for the outer dimensions of an array, whose product is at most `parts` and near
// it; the first is that of the outermost dimension.
std::vector<int64_t> PartitionOuterDimensions(Shape shape, int64_t parts);

}  // namespace hlo
