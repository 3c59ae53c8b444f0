// Writes what is known about the iterations of loops into their backend configs.
//
//   w = while(t), condition=c, body=b
//       =>   w = while(t), condition=c, body=b, backend_config={"known_trip_count":{"n":"10"},"known_init_step":{"init":"0","step":"1"},
//                                                 "known_induction_variable":{"tuple_index":"0"},"dynamic_variables":[]}
//
// `known_trip_count`: the exact number, solved or tried out in up to 128 iterations (XLA's pass
// does not try loops whose condition computes with the variable). `known_init_step`: of loops that
// count up from a start >= 0; the value of the variable after such a loop becomes a constant.
// `dynamic_variables`: the elements of the state that choose slices in host memory (by layouts,
// or in bodies with calls of `MoveToHost` and `MoveToDevice` for slices), with start and step where
// both are constant. An earlier config is overwritten.
//
// Requires: nothing.  Leaves alone: loops without an induction variable
// (lib/analysis/trip_count.h). The computations do not change.
#pragma once

#include "passes/pass.h"

namespace hlo {

class WhileLoopTripCountAnnotator final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
