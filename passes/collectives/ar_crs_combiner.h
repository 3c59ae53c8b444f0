// Makes one reduction over all devices of one over partitions and one over replicas that follow
// each other, with linear operations in between.
//
//   a = f32[4] all-reduce(x), channel_id=1, replica_groups={{0},{1}}, to_apply=add
//   m = f32[4] multiply(a, c)                              =>   m = f32[4] multiply(x, c)
//   r = f32[4] all-reduce(m), replica_groups={{0,1}}, to_apply=add     r = f32[4] all-reduce(m), channel_id=1, …
//
// In between may be bitcasts, reshapes, transposes, conversions of one kind of number and, of
// floats, sums, differences and products. What is added is divided by the number of partitions, for
// each adds it now; another reduction over partitions that is added is dropped, too. All in between
// must be the same on all partitions of a replica (lib/analysis/replication.h). Of several
// reductions over partitions that lead to the same one over replicas the farthest one counts.
//
// With many replicas, at least 8 for each partition, a sum of f32 over all replicas that is the
// same on all partitions is done over all devices as well and divided: larger groups have faster
// ways.
//
// Options: `spmd_partition`: all partitions run this program; `num_spatial_partitions` says how
// many there are where the module does not know (0: it does). Otherwise the module holds the
// programs of `num_spatial_partitions` partitions side by side: a reduction over partitions is as
// many all-reduces of one channel, and what follows each of them has to compute the same: equal
// operations on equal values, whatever the layout, through elements of tuples that loops and
// branches carry. Such sums are not widened.
// Requires: nothing.  Leaves alone: other combiners than add, asynchronous ones, groups of anything
// but the partitions of a replica, values with several users, a reduction that some partitions
// have no part in.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct ArCrsCombinerOptions {
  IntIn<0> num_spatial_partitions;
  bool spmd_partition = true;

  HLO_OPTIONS(ArCrsCombinerOptions, num_spatial_partitions, spmd_partition)
};

class ArCrsCombiner final : public WithOptions<Pass, ArCrsCombinerOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
