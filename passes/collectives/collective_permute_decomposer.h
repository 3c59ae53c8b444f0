// Makes of a collective-permute in a loop what devices send and receive one by one.
//
//   c = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,2}}
//       =>   t = token[] after-all()
//            r = recv(t);  s = send(x, t), control-predecessors={r}
//            d = recv-done(r), control-predecessors={s};  send-done(s)
//            c = get-tuple-element(d), index=0
//            all with frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}
//
// The pairs of one computation come one after the other. Collectives in which two of those meet
// that meet in all of them together come after them, and what meets with those; one without groups
// does not count. One that sends what its iteration starts with is marked for pipelining
// (`_xla_send_recv_pipeline`), with another one where both make a ring.
//
// Options: `threshold_in_bytes`; `pipeline_parallelism_opt_level`
//   disable   permutes of at least the threshold
//   enable    the one with most pairs that sends what its iteration starts with; it receives before
//             it sends, on a stream of its own
//
// Requires: nothing.  Leaves alone: permutes outside of loops, of several arrays, in place, smaller
// ones, and rings, in which all would wait for each other.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct CollectivePermuteDecomposerOptions {
  int64_t threshold_in_bytes = 0;
  OneOf<"disable", "enable"> pipeline_parallelism_opt_level;

  HLO_OPTIONS(CollectivePermuteDecomposerOptions, threshold_in_bytes,
              pipeline_parallelism_opt_level)
};

class CollectivePermuteDecomposer final
    : public WithOptions<Pass, CollectivePermuteDecomposerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
