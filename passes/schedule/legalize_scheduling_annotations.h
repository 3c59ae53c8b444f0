// Makes the groups that a program wants scheduled together groups that a schedule can have.
//
//   d = all-gather-done(s), frontend_attributes={_scheduling_group_id="1"}
//   b = negate(d)                                  =>   b = …, _scheduling_group_id="1"
//   c = cosine(b), frontend_attributes={_scheduling_group_id="1"}
//
// In this order:
//   1. `check_gap_only`: of all this only the search for what lies between members, as in 8.
//   2. `run_verification`: two groups of which each needs the other are an error.
//   3. `remove_loop_iteration_annotation_only`: iterations go ("3:-1" becomes "3"), nothing else is
//      done.
//   4. "noop" goes; without `keep_sync_annotation` what is not asynchronous leaves its group, and so
//      does what only copies in the background; without `keep_start_annotation` async-start, too.
//   5. With `keep_sync_annotation` a fusion gets the group of what it fuses; two groups in one
//      fusion are an error. `check_start_done_annotation_consistency`: a done of another group than
//      its start is an error.
//   6. Without `keep_trivial_sync_annotation` groups of one instruction go. A group goes in which
//      nothing, in no computation, is asynchronous or a collective that could be. Iterations do not
//      matter here.
//   7. What lies alone on the way from a member to the next, each with one operand and one user,
//      joins the group.
//   8. What lies between two members otherwise is an error, or joins with `propagate_annotation`; if
//      it is of another group, that is an error. `check_non_mitigatable_gap_only` looks for such
//      errors alone. With `deannotate_unsupported_groups` the group goes instead of an error.
//      `skip_opt_barriers`: ways through a tuple, and a barrier after it, lead from an operand to
//      its get-tuple-element; other barriers end them.
//
// A group is one in each computation; what goes by 8 goes in all.
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
  bool keep_start_annotation = true;
  bool deannotate_unsupported_groups = false;
  bool check_gap_only = false;
  bool check_non_mitigatable_gap_only = false;
  bool skip_opt_barriers = false;

  HLO_OPTIONS(LegalizeSchedulingAnnotationsOptions, keep_sync_annotation,
              keep_trivial_sync_annotation, propagate_annotation,
              check_start_done_annotation_consistency, remove_loop_iteration_annotation_only,
              run_verification, keep_start_annotation, deannotate_unsupported_groups,
              check_gap_only, check_non_mitigatable_gap_only, skip_opt_barriers)
};

class LegalizeSchedulingAnnotations final
    : public WithOptions<Pass, LegalizeSchedulingAnnotationsOptions> {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
