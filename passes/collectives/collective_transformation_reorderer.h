// Reshapes before gathering and after reducing, so that neither stands between a collective and
// what it could be combined with.
//
//   g = f32[8,32] all-gather(f32[4,32] x), dimensions={0};  r = f32[8,4,8] reshape(g)
//       =>   s = f32[4,4,8] reshape(x);  r = f32[8,4,8] all-gather(s), dimensions={0}
//   a = f32[8] all-reduce(f32[8] reshape(x))
//       =>   b = all-reduce(x);  a = f32[8] reshape(b)
//
// What is dead after it goes, as in XLA.
//
// Requires: nothing.  Leaves alone: gathers of several arrays and gathers or reshapes that others
// read, too; reshapes that cut or join the gathered dimension; all-reduces with constrained
// layouts, of several arrays, that are the root or have several readers.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class CollectiveTransformationReorderer final : public ComputationPass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
