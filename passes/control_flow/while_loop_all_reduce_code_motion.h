// Adds up on each device while a loop runs, and between devices once after it.
//
//   body: acc' = add(acc, all-reduce(x))           =>   body: acc' = add(acc, x), acc starting with zeros
//   w = while(…, a, …)                                  r = add(a, all-reduce(get-tuple-element(w)))
//
// Between the all-reduce and the sum may be reshapes, transposes, bitcasts and copies; a part of
// acc may be added to in place (dynamic-update-slice of a dynamic-slice) where its start is the
// same on all devices.
//
// With `enable_reduce_scatter`, what would be divided among devices in each iteration is added up
// whole, in another element of the state, and divided after the loop. Option `run_setup_passes`:
// `reorder-reduce-transpose` and `reorder-convert-reduce-add` go first.
//
// Requires: computations of a loop that nothing else calls; nobody reads acc in the loop but that
// sum.  Leaves alone: other combiners than add, all-reduces that something else reads, of several
// arrays, with control edges; pred; reduce-scatters of what is moved before it is added.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WhileLoopAllReduceCodeMotionOptions {
  bool enable_reduce_scatter = false;
  bool run_setup_passes = false;

  static auto Fields() {
    using O = WhileLoopAllReduceCodeMotionOptions;
    return std::tuple{Optional("enable_reduce_scatter", &O::enable_reduce_scatter),
                      Optional("run_setup_passes", &O::run_setup_passes)};
  }
};

class WhileLoopAllReduceCodeMotion final : public Pass {
 public:
  using Options = WhileLoopAllReduceCodeMotionOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  explicit WhileLoopAllReduceCodeMotion(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
