// Tells the instructions inside a fusion in which memory its operands and results lie.
//
//   f { p = f32[8]{0} parameter(0)  ROOT n = f32[8]{0} negate(p) }
//   y = f32[8]{0:S(1)} fusion(f32[8]{0:S(2)} x), calls=f      =>   p is f32[8]{0:S(2)}, n f32[8]{0:S(1)}
//
// Memory space and split configurations go from each operand to the parameter, from each result to
// the root, and from there to whatever is the same value: through tuples, fusions inside of
// fusions, and the operand that a dynamic-update-slice writes into. A bitcast makes a value of its
// own.
//
// Requires: layouts.  Ensures: parameters and roots of fused computations agree with their
// fusions in memory space and split configurations.
// Leaves alone: everything outside of fusions.
#pragma once

#include "passes/pass.h"

namespace hlo {

class MemorySpacePropagation final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
