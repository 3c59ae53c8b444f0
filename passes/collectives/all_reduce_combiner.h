// Lets devices reduce several arrays at once.
//
//   a = f32[4] all-reduce(x), to_apply=add
//   b = f32[5] all-reduce(y), to_apply=add   =>   t = (f32[4], f32[5]) all-reduce(x, y), to_apply=add;  a = gte(t, 0);  b = gte(t, 1)
//
// Combined are those with the same operation, element type, groups and kind of ids
// (collective_combiner.h says which of them, and what is left alone).
//
// Requires: nothing.  Leaves alone: modules with an all-reduce that constrains layouts.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct AllReduceCombinerOptions {
  int64_t combine_threshold_in_bytes = 1024;
  int64_t combine_threshold_count = 1024;

  HLO_OPTIONS(AllReduceCombinerOptions, combine_threshold_in_bytes, combine_threshold_count)
};

class AllReduceCombiner final : public WithOptions<Pass, AllReduceCombinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
