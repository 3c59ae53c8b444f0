// Lets collectives of loops overlap with the work of other iterations.
//
//   forward
//     body: a' = dynamic-update-slice(a, all-reduce(x), i)
//       =>   body: a' = dynamic-update-slice(a, all-reduce(old x), old i)
//            the last all-reduce after the loop
//   backward
//     body: f(all-gather(dynamic-slice(w, i)))
//       =>   the first all-gather before the loop
//            body: f(old g); g = all-gather(dynamic-slice(w, i + 1))
//   forwardsink
//     body: a' = dynamic-update-slice(a, all-reduce(x), i)
//       =>   body: xs' = dynamic-update-slice(xs, x, i)
//            a = all-reduce(xs) after the loop
//
// forward takes the first iteration out of the loop, backward the last one. Between the collective
// and the update may be operations that only move data, further collectives and conversions, and,
// with `pipeline_use_tree`, elementwise ones and several readers. What the collective of backward
// is made of depends on nothing but the counter and elements that the loop hands on as they are.
//
// XLA's names of the pass say the direction: `collective-pipeliner-backward`. Options as in XLA's
// Config, with the values that its pipeline for GPUs gives them:
//   direction                    forward, backward, forwardsink
//   ops                          the collectives; default: forward all-reduce and reduce-scatter,
//                                backward all-gather, forwardsink all-reduce
//   max_pipelining_per_loop      forward and backward; a first one always moves
//   level_to_operate_on          forward: 1 moves what a run with last_run=false has moved once more
//   last_run                     false: what moves forward is marked by custom calls for the next
//                                run; true: marks are removed
//   process_different_sized_ops  false: only where what is stored is as large as the operand
//   reuse_pipelined_op_buffer    forward: what is stored as it is read is carried in the place where
//                                it is going to be stored; false: by itself
//   should_add_loop_invariant_op_in_chain
//                                backward: what the collective is made of may also be read by
//                                others
//   collective_size_threshold_to_delay_sinking
//                                forwardsink: collectives of so many elements sink after the others
//   should_allow_loop_variant_parameter_in_chain
//                                backward: the collective may read what the iteration before made
//   should_allow_control_dependencies
//                                backward: the collective may have control edges, which are dropped
//
// forward also moves values that are not stored, but given to an operation whose only result is a
// token of the state (a sink). Bounds for iterations that send (`_xla_send_recv_validation`) follow
// as in XLA.
//
// Requires: nothing.  Ensures: no marks with `last_run`.
// Leaves alone: loops that do not count to a constant, that run less than twice, whose state is
// read as a whole, whose condition has effects; arrays that the loop reads, and those stored in
// where another element than the first of the state counts.
#pragma once

#include <limits>

#include "passes/pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct CollectivePipelinerOptions {
  OneOf<"forward", "backward", "forwardsink"> direction;
  std::string ops;
  int64_t level_to_operate_on = 0;
  int64_t max_pipelining_per_loop = std::numeric_limits<int64_t>::max();
  bool last_run = true;
  bool pipeline_use_tree = false;
  bool process_different_sized_ops = true;
  bool reuse_pipelined_op_buffer = false;
  bool should_add_loop_invariant_op_in_chain = true;
  bool should_allow_loop_variant_parameter_in_chain = false;
  bool should_allow_control_dependencies = false;
  int64_t collective_size_threshold_to_delay_sinking = std::numeric_limits<int64_t>::max();

  HLO_OPTIONS(CollectivePipelinerOptions, direction, ops, level_to_operate_on,
              max_pipelining_per_loop, last_run, pipeline_use_tree, process_different_sized_ops,
              reuse_pipelined_op_buffer, should_add_loop_invariant_op_in_chain,
              should_allow_loop_variant_parameter_in_chain, should_allow_control_dependencies,
              collective_size_threshold_to_delay_sinking)
};

class CollectivePipeliner final : public WithOptions<Pass, CollectivePipelinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
