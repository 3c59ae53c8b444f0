// Finds out how every value is best divided among devices, from the shardings that are given.
//
//   p = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
//   t = f32[4,8] transpose(p), dimensions={1,0}      =>   t has sharding={devices=[1,2]<=[2]}
//   d = f32[4,6] dot(t, k), contracting {1} x {0}    =>   d has sharding={replicated}
//
// Forward from operands and backward from users (forward_rules.cc, backward_rules.cc), along the
// dimensions that run along with each other (dimension_maps.h), in four rounds of growing boldness
// until nothing changes (propagator.h). Of two shardings of a value the one that says more holds;
// those that replicate part of the data are merged (sharding_merge.h). What is given stays as it
// is, but for dimensions that an annotation leaves open, and in a shard_as group; what shardy-xla
// notes as open stays in its manual region, but may be divided there. Custom calls "Sharding"
// become copies; the barriers of shard groups go.
//
// Options. `is_spmd`: one program runs on all devices, so partial results may be combined, and
// copies need not be avoided. `propagate_metadata`: shardings keep from where they come; else all
// such notes go. `allow_spmd_sharding_propagation_to_output`, `…_to_parameters`: also the result
// and the parameters of the entry may get a sharding, as if the module allowed it for all of them;
// they are replicated where it does not divide their dimensions evenly. `cse_prevention_only`:
// leaves a mark on broadcasts of scalars, so that those of different parts of a program stay apart,
// and nothing else; the next run without it takes the marks away.
//
// Requires: computations of loops, conditionals and calls have one call site, or get what the last
// one has.  Ensures: no instruction has less of a sharding than before.  Leaves alone: values that
// are on one device; what nothing sharded leads to; modules without shardings.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ShardingPropagationOptions {
  bool is_spmd = true;
  bool propagate_metadata = false;
  bool allow_spmd_sharding_propagation_to_output = false;
  bool allow_spmd_sharding_propagation_to_parameters = false;
  bool cse_prevention_only = false;

  HLO_OPTIONS(ShardingPropagationOptions, is_spmd, propagate_metadata,
              allow_spmd_sharding_propagation_to_output,
              allow_spmd_sharding_propagation_to_parameters, cse_prevention_only)
};

class ShardingPropagation final : public WithOptions<Pass, ShardingPropagationOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
