// Takes the result of an equal collective, unless the earlier one would have to be kept too long.
//
//   a = all-gather(x), channel_id=1;  b = all-gather(x), channel_id=2      =>   b = a
//
// So do all-reduces of what each device has written into a broadcast, and permutes; operands may
// differ by reshapes that add dimensions of size 1.
//
// Too long: the last reader of the earlier one is more than `distance_threshold` steps, counted
// from the end as XLA counts them, before the later one. Permutes do not take long.
//
// Requires: nothing.  Leaves alone: other collectives, of several arrays, asynchronous ones, with
// constrained layouts; with `for_replicas` those with a channel, without it those that have none.
// One with control edges stays, without readers.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ScheduleAwareCollectiveCseOptions {
  int64_t distance_threshold = 1000;
  bool for_replicas = false;

  HLO_OPTIONS(ScheduleAwareCollectiveCseOptions, distance_threshold, for_replicas)
};

class ScheduleAwareCollectiveCse final
    : public WithOptions<Pass, ScheduleAwareCollectiveCseOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
