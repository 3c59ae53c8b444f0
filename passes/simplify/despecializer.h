// Undoes what back ends do to a module, so that a dump of their output runs anywhere.
//
// Runs, in this order, `hlo-descheduler`, `control-dep-remover`, `defuser`,
// `bf16-mixed-precision-removal` and `sub-byte-size-removal`. Two more rewrites are passes of their
// own: `AssumeGatherIndicesInBoundRewriteToCopy` and `ReduceWindowToReduceAndBroadcast`.
//
// Requires: nothing.  Ensures: what these passes ensure.
#pragma once

#include "passes/pass.h"

namespace hlo {

class Despecializer final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
