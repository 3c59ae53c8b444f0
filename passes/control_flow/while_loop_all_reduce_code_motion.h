// Adds up on each device while a loop runs, and between devices once after it.
//
//   body: acc' = add(acc, all-reduce(x))           =>   body: acc' = add(acc, x), acc starting with zeros
//   w = while(…, a, …)                                  r = add(a, all-reduce(get-tuple-element(w)))
//
// loop_accumulations.h says what may stand between the all-reduce and the sum. All-reduces, also of
// other combiners than add, whose results the iterations store side by side run once on all of them
// (up to `dus_max_size_bytes`):
//
//   body: buf' = dynamic-update-slice(buf, all-reduce(x), i, 0)
//     =>   body: buf' = dynamic-update-slice(buf, x, i, 0)      after it: all-reduce(slice(buf))
//
// With `enable_reduce_scatter`, what would be divided among devices in each iteration is added up
// whole, in an element of the state that is as large, and divided after the loop. Option
// `run_setup_passes`: `reorder-reduce-transpose` and `reorder-convert-reduce-add` go first.
//
// Requires: bodies that nothing but loops call; nobody reads acc in the loop but that sum.
// Leaves alone: all that follows a body with such a collective that constrains layouts; sums by
// other combiners than add; all-reduces that something else reads, of several arrays, with control
// edges; pred, complex and f8; reduce-scatters of what is moved before it is added. Unlike XLA's:
// selections by what differs between the devices, and all-reduces of a scatter into the element
// itself, of which each iteration multiplies what was there; both would give other values.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WhileLoopAllReduceCodeMotionOptions {
  bool enable_reduce_scatter = false;
  bool run_setup_passes = false;
  int64_t dus_max_size_bytes = int64_t{128} << 20;

  HLO_OPTIONS(WhileLoopAllReduceCodeMotionOptions, enable_reduce_scatter, run_setup_passes,
              dus_max_size_bytes)
};

class WhileLoopAllReduceCodeMotion final
    : public WithOptions<Pass, WhileLoopAllReduceCodeMotionOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
