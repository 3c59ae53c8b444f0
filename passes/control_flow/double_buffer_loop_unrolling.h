// Lets loops do two iterations at a time, so that a schedule may overlap the end of one with the
// beginning of the next, and values of both need no copies.
//
//   w = while(t), body { s -> f(s) }, known_trip_count 7
//     =>   w = while(f(t)), body { s -> f(f(s)) }, known_trip_count 3
//
// The second copy in the body is named `NAME.double_buffer_clone`; what of it reads the state waits
// for the first one (up to 10,000 control edges), but for collectives and operations with a
// constant, which may be folded. With an odd count one iteration is peeled off in front,
// `NAME.peeled_double_buffer`. Collectives get channels of their own; what the backend config says
// of the count is kept true, and so are the iterations in which devices send
// (`_xla_send_recv_validation`).
//
// Options: `unroll_strategy`
//   double_buffer   as above
//   full_unroll     all iterations in the body, which then runs once (`NAME.full_unroll_clone`)
//   auto            double_buffer, loops with collectives only
//
// Requires: `while-loop-trip-count-annotator`, or a backend config that says how often loops run,
// which is believed as it is.  Ensures: `flatten-call-graph` has run if anything changed.
// Leaves alone: loops of one iteration or none, or of an unknown number, and those whose condition
// has effects; full_unroll: more than 10,000 instructions.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct DoubleBufferLoopUnrollingOptions {
  OneOf<"double_buffer", "full_unroll", "auto"> unroll_strategy;

  HLO_OPTIONS(DoubleBufferLoopUnrollingOptions, unroll_strategy)
};

class DoubleBufferLoopUnrolling final : public WithOptions<Pass, DoubleBufferLoopUnrollingOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
