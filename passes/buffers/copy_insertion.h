// Copies where values that have to lie in one place would overwrite each other, and nowhere else.
//
//   w = while(t), t = (i, x)      x an argument            =>   t = (copy(i), copy(x))
//   u = dynamic-update-slice(x, y, k), r = add(u, x)       =>   u = dynamic-update-slice(copy(x), y, k)
//   ROOT t = tuple(y, y, x)       x an argument            =>   ROOT t = tuple(y, copy(y), copy(x))
//   body that swaps two elements of its state              =>   copies at its begin and end, with control edges
//
// Copies are added at the borders of loops, for the results of branches, for operands that are to
// be written over (in-place pairs of lib/analysis/alias.h), for what a loop hands to its next
// iteration while it is under way (started_chains.h) and for aliases of the entry; then those
// are removed, the module's own included, without which no two values of one place interfere
// (lib/analysis/interference.h). A loop fusion may write over what it reads element by element, as
// an elementwise operation may. What remains for arguments and constants is copied where they are
// made, results that share memory where they are returned.
//
// Options: `dense` is for our back ends, whose arrays are dense and row-major and whose
// instructions run in the order in which they stand: that order, with updates of loop state as late
// as they may be (late_updates.h), becomes the module's schedule, reshapes make nothing, no
// operation has to write over its operands, and results are copied at the end. It says what buffer
// assignment (backends/common) relies on.
// `use_region_based_live_range_analysis`: a copy also goes where control edges can keep two values
// apart that nothing orders; 0 never, -1 always, n for up to n pairs of values of the two places.
// What happens in loops and branches is asked in any case.
//
//   body: s = sine(x)  y = exponential(x)  returns (s, y)      =>      y after s, written over x
//
// Requires: flatten-call-graph has run.  Ensures: values that must share memory do not interfere.
// Leaves alone: tokens and other opaque values; loops with the frontend attribute
// xla_disable_while_loop_copies; updates with xla.disjoint_read_write_regions of what only such
// updates read; what a start holds for its done; without `dense`, asynchronous computations, and
// copies at the ends of branches that XLA keeps (branch_order.h).
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct CopyInsertionOptions {
  bool dense = false;
  IntIn<-1> use_region_based_live_range_analysis;

  HLO_OPTIONS(CopyInsertionOptions, dense, use_region_based_live_range_analysis)
};

class CopyInsertion final : public WithOptions<Pass, CopyInsertionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
