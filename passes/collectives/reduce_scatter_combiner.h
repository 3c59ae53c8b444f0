// Lets devices reduce and scatter several arrays at once.
//
//   a = f32[4] reduce-scatter(x), dimensions={0}, to_apply=add
//   b = f32[2] reduce-scatter(y), dimensions={0}, to_apply=add
//       =>   t = (f32[4], f32[2]) reduce-scatter(x, y), dimensions={0}, to_apply=add;  a = gte(t, 0);  b = gte(t, 1)
//
// Combined are those with the same operation, element type, groups, kind of ids and dimension;
// without `combine_by_dim` those along others, too, by way of bitcasts, for which layouts must be
// known (collective_combiner.h says which of them, and what is left alone).
//
// Requires: nothing.  Leaves alone: modules with a reduce-scatter that constrains layouts; without
// `combine_while_loops` the computations of loops.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ReduceScatterCombinerOptions {
  int64_t combine_threshold_in_bytes = 1024;
  int64_t combine_threshold_count = 1024;
  bool combine_by_dim = true;
  bool combine_while_loops = true;

  HLO_OPTIONS(ReduceScatterCombinerOptions, combine_threshold_in_bytes, combine_threshold_count,
              combine_by_dim, combine_while_loops)
};

class ReduceScatterCombiner final : public WithOptions<Pass, ReduceScatterCombinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
