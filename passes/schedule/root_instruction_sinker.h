// Makes the root of each computation the last instruction of its schedule.
//
//   r = f32[] negate(x)              r = f32[] negate(x)
//   s = token[] outfeed(x, t)   =>   s = token[] outfeed(x, t)
//                                    bitcast = f32[] bitcast(r)      // the root
//
// A tuple is taken apart and built again at the end.
//
// Without a schedule nothing happens; a remark says so.  Ensures: roots stand last, except where a
// root is neither array nor tuple.
// Leaves alone: computations whose root stands last already; bodies of fusions and of
// composite operations.
#pragma once

#include "passes/pass.h"

namespace hlo {

class RootInstructionSinker final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
