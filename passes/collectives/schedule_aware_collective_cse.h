// Takes the result of an equal collective, unless the earlier one would have to be kept too long.
//
//   a = all-gather(x), channel_id=1;  b = all-gather(x), channel_id=2      =>   b = a
//
// Too long: the last reader of the earlier one is more than `distance_threshold` steps, counted
// from the end along the longest way, before the later one; then the later one is the one to
// take from then on.
//
// Requires: nothing.  Leaves alone: collectives of several arrays, asynchronous ones, with
// constrained layouts or control edges; with `for_replicas` those with a channel, without it those
// that have none.
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

 private:
  absl::StatusOr<bool> RunOn(Computation& computation, PassContext& context) const;
};

}  // namespace hlo
