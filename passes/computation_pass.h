// A pass that treats computations one at a time, callees first, fusion bodies included.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ComputationPass : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override {
    bool changed = false;
    for (Computation* computation : context.Computations(module)) {
      ASSIGN_OR_RETURN(const bool computation_changed, RunOnComputation(*computation, context));
      changed |= computation_changed;
    }
    return changed;
  }

 protected:
  virtual absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) = 0;
};

}  // namespace hlo
