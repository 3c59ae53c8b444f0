// Lets devices send several arrays at once.
//
//   a = f32[8] collective-permute(x), source_target_pairs=P
//   b = s32[8] collective-permute(y), source_target_pairs=P
//       =>   t = (f32[8], s32[8]) collective-permute(x, y), source_target_pairs=P;  a = gte(t, 0);  b = gte(t, 1)
//
// Combined are those between the same pairs (collective_combiner.h says what is left alone).
//
// Requires: nothing.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct CollectivePermuteCombinerOptions {
  int64_t combine_threshold_in_bytes = 1024;
  int64_t combine_threshold_count = 1024;

  HLO_OPTIONS(CollectivePermuteCombinerOptions, combine_threshold_in_bytes, combine_threshold_count)
};

class CollectivePermuteCombiner final : public WithOptions<Pass, CollectivePermuteCombinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
