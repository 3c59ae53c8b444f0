// Prepares loops that multiply parts of arrays while they send others, and products beside an
// all-to-all, for a GPU that does both at a time.
//
// A partitioner makes such loops of a product and the all-gather before it or the reduce-scatter
// after it (windowed_loops.h); their bodies are called `windowed_dot_general_body_ag` and `…_rs`.
// In this order:
//
//   scaled-in-loop   8-bit floats are scaled in the loop, beside each product (windowed_f8.h)
//   gather-kept      another product that reads an all-gather of what a loop sends round reads what
//                    the loop has put together (windowed_gathers.h)
//   …-exchange…      with `enable_alltoall_windowed_einsum`: a product of what an all-to-all has
//                    exchanged, or an all-to-all of a product, in parts (all_to_all_products.h)
//   unrolled         all iterations stand in a loop that runs once, where nothing is fused with
//                    what is around it; products run on queues of their own; parts of sums are
//                    added up after it (sum-moved; windowed_loops.h)
//
//   w = while(t), condition=windowed_dot_general_cond, body=windowed_dot_general_body_ag
//     =>   w = while(t), condition=unrolled_windowed_dot_general_cond,
//              body=unrolled_windowed_dot_general_body_ag,
//              frontend_attributes={skip-simplify-while-loops_trip-count-one="true"}
//          body: dot(…), backend_config={"operation_queue_id":"7",…}
//                add(…), backend_config={…"wait_on_operation_queues":["7"],…}
//                collective-permute(gte(p, 0)), backend_config={…"force_earliest_schedule":true…}
//
// Queues count from the number that the next channel would have, as XLA's do. Where there is such a
// loop, `algsimp` and `constant_folding` run before it is unrolled: what a partitioner writes does
// not count in the simple way. Their rules change rounding.
//
// Requires: nothing.  Ensures: nothing.
// Leaves alone: bodies with one product, such that call loops, branches or computations, or have
// several callers; loops that while_loop_unroller does not unroll. Like XLA's pass: what sends the
// first part of a result (`…_rs`) is scheduled like all else. Unlike it: a gather that a loop does
// not provably have all parts of, in the right places; sums that start with anything but zeros; an
// all-to-all along the dimension that is contracted; one without channel gets none.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WindowedEinsumHandlerOptions {
  bool enable_alltoall_windowed_einsum = false;

  HLO_OPTIONS(WindowedEinsumHandlerOptions, enable_alltoall_windowed_einsum)
};

class WindowedEinsumHandler final : public WithOptions<Pass, WindowedEinsumHandlerOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  absl::StatusOr<bool> ChangeProducts(Module& module, const std::vector<Instruction*>& gathering,
                                      PassContext& context) const;
};

}  // namespace hlo
