// Puts work between the two halves of asynchronous operations: starts go up, dones down.
//
//   m = dot(a, b)          s = async-start(x)
//   s = async-start(x)     m = dot(a, b)
//   d = async-done(s)      d = async-done(s)
//   r = add(d, m)      =>  r = add(d, m)
//
// Times are those of the cost analysis on `platform` (lib/analysis/async_overlap.h). A done waits
// for as much work as its operation takes by them, or as there is. `memory_limit_bytes` bounds the
// bytes of values that each computation makes and needs at one time, parameters and constants
// apart; 0: no limit. Where no order that hides more keeps to it, the order stays. The order that
// is there already, or the post-order, decides where times do not.
//
// Requires: nothing.  Ensures: the module is scheduled; no computation waits longer than before by
// the model.  Leaves alone: fusion bodies; the order of instructions with side effects, but for
// collectives and transfers, which tokens and control edges order.
#pragma once

#include <string>

#include "passes/pass.h"

namespace hlo {

struct LatencyHidingSchedulerOptions {
  int64_t memory_limit_bytes = 0;
  std::string platform = "cpu";

  static auto Fields() {
    using O = LatencyHidingSchedulerOptions;
    return std::tuple{Optional("memory_limit_bytes", &O::memory_limit_bytes),
                      Optional("platform", &O::platform)};
  }
};

class LatencyHidingScheduler final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using Options = LatencyHidingSchedulerOptions;
  explicit LatencyHidingScheduler(Options options = {}) : options_(std::move(options)) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
