// Lets devices gather several arrays at once.
//
//   a = f32[8] all-gather(x), dimensions={0}
//   b = s32[8] all-gather(y), dimensions={0}
//       =>   t = (f32[8], s32[8]) all-gather(x, y), dimensions={0};  a = gte(t, 0);  b = gte(t, 1)
//
// Combined are those along the same dimension with the same groups and kind of ids; without
// `combine_by_dim` those along others, too, by way of bitcasts, for which layouts must be known.
// Without `combine_different_dtypes` only those of one element type. The first gives channel and
// attributes (collective_combiner.h says what is left alone).
//
// Requires: nothing.  Leaves alone: modules with an all-gather that constrains layouts; without
// `combine_while_loops` the computations of loops.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct AllGatherCombinerOptions {
  int64_t combine_threshold_in_bytes = 1024;
  int64_t combine_threshold_count = 1024;
  bool combine_by_dim = true;
  bool combine_different_dtypes = true;
  bool combine_while_loops = true;

  HLO_OPTIONS(AllGatherCombinerOptions, combine_threshold_in_bytes, combine_threshold_count,
              combine_by_dim, combine_different_dtypes, combine_while_loops)
};

class AllGatherCombiner final : public WithOptions<Pass, AllGatherCombinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
