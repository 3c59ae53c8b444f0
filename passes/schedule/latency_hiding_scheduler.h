// Puts work between the two halves of asynchronous operations: starts go up, dones down.
//
//   m = dot(a, b)          s = async-start(x)
//   s = async-start(x)     m = dot(a, b)
//   d = async-done(s)      d = async-done(s)
//   r = add(d, m)      =>  r = add(d, m)
//
// By default as XLA does it, in its units (overlap_schedule.h): 5000 for what runs in the
// background and for convolutions and output fusions, 1000 for loop fusions, 1 for the rest.
// `…_overlap_limit` says how many operations of one kind may be under way; `schedule_send_recvs`,
// whether send and recv count as such; `force_send_recv_to_use_same_resource`, whether those of the
// host are one kind; `track_sync_op_resource_usage`, whether operations without halves count, too.
// `aggressive_scheduling_policies` looks further ahead: for chains of such operations, for work of
// the right length; `prioritize_async_depth_over_stall` and `enable_release_start_policy` are about
// starts that could wait or could go. Groups (`_scheduling_group_id`) are scheduled in one piece;
// `flexible_scheduling_annotation_scheduling` leaves their first start to the scheduler, which
// `aggressive_flexible_annotation_scheduling` makes it put as early as possible;
// `force_delay_over_memory_pressure` also where memory is short;
// `deannotate_group_if_blocked` gives groups up that stand in the way. The frontend attribute
// `scheduler_hint` says `force_early` of custom calls, `force_delay` of them, async-start and
// async-done, `force_delay_async` of starts and dones; `scheduler_delay_priority` is a number. What
// is to be late comes last in the computation read from its end, that is early in it.
// `enable_schedule_by_structure` keeps starts for when nothing else is ready.
//
// `top_down_scheduling` makes sequences from their beginning instead: starts go as soon as they
// can, dones when enough lies between. Groups of async-starts and async-dones alone then go, and a
// start joins the group of its async-done in its place.
//
// With `platform`, times are those of the cost analysis there (lib/analysis/async_overlap.h). A
// done then waits for as much work as its operation takes by them, or as there is, and no
// computation waits longer than before by the model. Where no order that hides more keeps to the
// limit of memory, the order stays.
//
// `memory_limit_bytes` bounds the bytes of values that are needed at one time, parameters of the
// entry apart; 0: no limit. In a called computation that is what its callers keep meanwhile, too;
// with `platform`, only what each computation makes and needs by itself. `rerun`: how often, while
// some computation needs more by itself, all is scheduled again with a limit of nine tenths. The
// order that is there already, or the post-order, decides where times do not.
//
// Requires: nothing.  Ensures: the module is scheduled.  Errors: a group that needs more at a time
// than the limits allow, or of which only some members have
// `keep_original_sequence_order_in_group`.  Leaves alone: fusion bodies; memory that is not the
// device's own (memory spaces other than 0); the order of instructions with side effects,
// but for collectives and transfers, which tokens and control edges order; by default, computations
// without asynchronous operations.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"
#include "passes/util/option_words.h"

namespace hlo {

struct LatencyHidingSchedulerOptions {
  IntIn<0> memory_limit_bytes;
  OneOf<"", "cpu", "gpu"> platform;
  IntIn<0> all_gather_overlap_limit{1};
  IntIn<0> all_reduce_overlap_limit{1};
  IntIn<0> all_to_all_overlap_limit{1};
  IntIn<0> collective_broadcast_overlap_limit{1};
  IntIn<0> collective_permute_overlap_limit{1};
  IntIn<0> copy_overlap_limit{1};
  IntIn<0> ragged_all_to_all_overlap_limit{1};
  IntIn<0> reduce_scatter_overlap_limit{1};
  IntIn<0> send_recv_overlap_limit{1};
  IntIn<0> send_recv_host_overlap_limit{1};
  IntIn<0> rerun;
  bool schedule_send_recvs = false;
  bool force_send_recv_to_use_same_resource = false;
  bool track_sync_op_resource_usage = false;
  bool aggressive_scheduling_policies = false;
  bool prioritize_async_depth_over_stall = false;
  bool enable_schedule_by_structure = false;
  bool top_down_scheduling = false;
  bool enable_release_start_policy = false;
  bool depth_based_memory_pressure_reduction = false;
  bool flexible_scheduling_annotation_scheduling = false;
  bool aggressive_flexible_annotation_scheduling = false;
  bool force_delay_over_memory_pressure = false;
  bool deannotate_group_if_blocked = false;

  HLO_OPTIONS(LatencyHidingSchedulerOptions, memory_limit_bytes, platform, all_gather_overlap_limit,
              all_reduce_overlap_limit, all_to_all_overlap_limit,
              collective_broadcast_overlap_limit, collective_permute_overlap_limit,
              copy_overlap_limit, ragged_all_to_all_overlap_limit, reduce_scatter_overlap_limit,
              send_recv_overlap_limit, send_recv_host_overlap_limit, rerun, schedule_send_recvs,
              force_send_recv_to_use_same_resource, track_sync_op_resource_usage,
              aggressive_scheduling_policies, prioritize_async_depth_over_stall,
              enable_schedule_by_structure, top_down_scheduling, enable_release_start_policy,
              depth_based_memory_pressure_reduction, flexible_scheduling_annotation_scheduling,
              aggressive_flexible_annotation_scheduling, force_delay_over_memory_pressure,
              deannotate_group_if_blocked)
};

class LatencyHidingScheduler final : public WithOptions<Pass, LatencyHidingSchedulerOptions> {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  struct ByUnits {
    bool changed = false, has_work = false;
    int64_t peak_bytes = 0;  // of the computation that needs most by itself
  };
  absl::StatusOr<ByUnits> ScheduleByUnits(Module& module, PassContext& context,
                                          const Options& options) const;
  absl::StatusOr<bool> RunByTimes(Module& module, PassContext& context) const;
  absl::StatusOr<bool> RunByUnits(Module& module, PassContext& context) const;
};

}  // namespace hlo
