// Makes the groups that a program wants scheduled together groups that a schedule can have.
//
//   a = exponential(x), frontend_attributes={_scheduling_group_id="1"}
//   b = negate(a)                                  =>   b = …, _scheduling_group_id="1"
//   c = cosine(b), frontend_attributes={_scheduling_group_id="1"}         (propagate_annotation)
//
// In this order:
//   1. `run_verification`: two groups of which each needs the other are an error.
//   2. `remove_loop_iteration_annotation_only`: iterations go ("3:-1" becomes "3"), nothing else is
//      done.
//   3. "noop" goes; without `keep_sync_annotation` what is not asynchronous leaves its group.
//   4. With `keep_sync_annotation` a fusion gets the group of what it fuses; two groups in one
//      fusion are an error.
//   5. `check_start_done_annotation_consistency`: a done of another group than its start is an
//      error.
//   6. Without `keep_trivial_sync_annotation` groups of one instruction that is not asynchronous
//      go.
//   7. What lies between two members of a group is an error, or joins it with
//      `propagate_annotation`; if it is of another group, that is an error.
//
// A group is one in each computation.
//
// Requires: nothing.  Ensures: each group can be scheduled without anything else in between.
// Leaves alone: annotations in fusions.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct LegalizeSchedulingAnnotationsOptions {
  bool keep_sync_annotation = true;
  bool keep_trivial_sync_annotation = true;
  bool propagate_annotation = false;
  bool check_start_done_annotation_consistency = true;
  bool remove_loop_iteration_annotation_only = false;
  bool run_verification = false;

  static auto Fields() {
    using O = LegalizeSchedulingAnnotationsOptions;
    return std::tuple{Optional("keep_sync_annotation", &O::keep_sync_annotation),
                      Optional("keep_trivial_sync_annotation", &O::keep_trivial_sync_annotation),
                      Optional("propagate_annotation", &O::propagate_annotation),
                      Optional("check_start_done_annotation_consistency",
                               &O::check_start_done_annotation_consistency),
                      Optional("remove_loop_iteration_annotation_only",
                               &O::remove_loop_iteration_annotation_only),
                      Optional("run_verification", &O::run_verification)};
  }
};

class LegalizeSchedulingAnnotations final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using Options = LegalizeSchedulingAnnotationsOptions;
  explicit LegalizeSchedulingAnnotations(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
