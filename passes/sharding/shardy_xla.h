// Reads what Shardy left in a module and says it in HLO: shardings, markers and custom calls that
// sharding-propagation and spmd-partitioner know. JAX writes modules that way.
//
//   x = f32[8,6] parameter(0), frontend_attributes={xla.sdy.sharding=
//       "#sdy.sharding<@mesh, [{\"a\"}, {}]>"}
//      =>
//   x = f32[8,6] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
//
// XLA's pass of this name also runs Shardy's own propagation and keeps its order of priorities;
// here that is left to sharding-propagation, which comes next. What this pass does:
//
// - Parameters, and calls of `Sharding`: `xla.sdy.sharding` takes the place of the sharding.
//   Dimensions with `?` are left open (`unspecified_dims`), but not those of parameters. What says
//   nothing at all goes. Other instructions keep their shardings; their attribute may be that of
//   an instruction they were made of, and goes.
// - `xla.sdy.FuncResultSharding` becomes `Sharding`, outside of the entry with all dimensions open;
//   `xla.sdy.ShardingGroup` a group (shard_as); `xla.sdy.PropagationBarrier` the barriers that
//   sharding-propagation knows.
// - Calls of manual computations (manual_call.h): every instruction in the computation, and in what
//   it calls, gets a sharding that is manual along the axes of the region and whole along the
//   others, with a note that sharding-propagation may divide it (sharding_annotations.h), except
//   where the program says how a value is divided. A computation that is called from several
//   regions is copied.
// - Sharding rules and priorities have no counterpart; they go, with a remark.
// - Meshes, and shardings of flattened tuples of the entry, stand at the module and go.
//
// Requires: nothing.  Ensures: no attribute that was understood and no custom call of Shardy is
// left.  Leaves alone: modules without them. Malformed text, and custom calls of Shardy that are
// unknown, are errors.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ShardyXla final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
