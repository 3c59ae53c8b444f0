// Removes what is dead across computations: elements of loop states that nothing reads.
//
//   w = (s32[], f32[4], f32[4]) while(t), body={ tuple(add(i, 1), negate(x), exponential(y)) }      // only element 1 is read
//       =>   w = (s32[], f32[4]) while(t'), body={ tuple(add(i, 1), negate(x)) }
//
// Elements that are not live (lib/analysis/liveness.h) are first made to pass through; then
// `simplify-while-loops`, `tuple-simplifier` and `dce` remove them.
//
// Requires: nothing.  Ensures: loops carry no element that neither the result of the module nor a
// side effect depends on, unless the loop is one that `simplify-while-loops` leaves alone.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ModuleDce final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
