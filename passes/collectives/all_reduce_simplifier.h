// Drops collectives whose result is known without talking to anyone.
//
//   g = f32[4] all-gather(f32[4] x)                                =>   x          (and reduce-scatter)
//   r = f32[4] all-reduce(x), replica_groups={{0},{1}}             =>   x
//   r = f32[4] all-reduce(x), to_apply=maximum, x the same everywhere     =>   x   (minimum, and, or)
//   r = f32[4] all-reduce(x), to_apply=add, x the same on g devices       =>   x * g
//
// What is the same on all replicas: lib/analysis/replication.h. A sum of g equal floats is rounded
// in steps, the product once.
//
// Requires: nothing.  Leaves alone: groups of different sizes; several arrays at once; other
// combiners and, for channels, groups of more than one device; asynchronous ones but for all-gather
// and reduce-scatter in an async-start.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AllReduceSimplifier final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
