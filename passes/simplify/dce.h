// Removes what cannot affect the result: instructions without users, unread outputs and parameters
// of fusions, computations nobody calls.
//
//   f = (f32[4], f32[4]) fusion(x), calls={ tuple(negate(p), exponential(p)) }
//   g = f32[4] get-tuple-element(f), index=1               =>   g = f32[4] fusion(x), calls={ exponential(p) }
//
// Requires: nothing.  Ensures: every instruction is used, a root, a parameter, ordered by a
// control edge, or has a side effect; fusion bodies have no unused parameter; every computation is
// reached from the entry.
// Leaves alone: side effects (also inside called computations), but those of asynchronous
// operations and of `tpu_custom_call` marked `xla_allow_dce_side_effecting_op="true"`; instructions
// with control edges; parameters of computations that are not fusion bodies (but see
// `use_call_analysis`). Until what reads them goes, too: custom calls `Sharding` whose operand
// would lose its annotation, instructions marked `xla_allow_dce_side_effecting_op="false"`, loops
// marked `xla_disable_while_loop_dce` or `xla_preserve_tuple_indices`.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct DceOptions {
  // Collectives with a channel are removed too when nobody reads them (unless they constrain
  // layouts).
  bool remove_cross_partition_collective_ops = false;
  // Unused parameters of computations that only `call` calls go, with their arguments.
  bool use_call_analysis = false;
  // Unused entry parameters go and the entry layout shrinks. Aliased and donated parameters stay.
  bool remove_dead_parameters_from_entry_computation = false;

  HLO_OPTIONS(DceOptions, remove_cross_partition_collective_ops, use_call_analysis,
              remove_dead_parameters_from_entry_computation)
};

class Dce final : public WithOptions<Pass, DceOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
