// Makes of a module whose values are divided among partitions the one program that each of them
// runs.
//
//   a = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
//   b = f32[4,6] parameter(1), sharding={replicated}
//   c = f32[8,6] dot(a, b), sharding={devices=[1,2]<=[2]}
//      =>
//   a = f32[4,4] parameter(0)    b = f32[4,6] parameter(1)
//   c = f32[8,3] all-to-all … of  f32[4,6] dot(a, b)
//
// A rule for each family of operations (rules_*.cc) says along which dimensions the devices may do
// their parts alone (running_dims.h); values that are wanted in another division are moved by
// collectives (move.h). What no rule knows is computed by every device as a whole. Tiles of
// dimensions that are not divided evenly are padded (placement.h).
//
// Manual regions (between `SPMDFullToShardShape` and `SPMDShardToFullShape`, or of values with a
// manual sharding) stay as they are; ids of partitions and collectives among them are errors
// elsewhere. Parameters of the entry keep their shardings as attributes;
// those of parameters and result are written into the module's configuration. Other shardings go.
//
// Options. `num_partitions`: instead of what the module says; 0: that.
// `allow_module_signature_change=false`: parameters and result of the entry keep their shapes, or
// it is an error. `cache_all_gather=false`: what several read is moved for each of them, which
// needs less memory.
//
// Requires: every sharding with tiles is of all partitions; sharding-propagation, or values without
// a sharding are whole on all devices.  Ensures: the entry takes and gives what one device has.
// Leaves alone: modules of one partition.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct SpmdPartitionerOptions {
  IntIn<0> num_partitions;
  bool allow_module_signature_change = true;
  bool cache_all_gather = true;

  HLO_OPTIONS(SpmdPartitionerOptions, num_partitions, allow_module_signature_change,
              cache_all_gather)
};

class SpmdPartitioner final : public WithOptions<Pass, SpmdPartitionerOptions> {
 public:
  using WithOptions::WithOptions;
  // Partial sums are added in another order.
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
