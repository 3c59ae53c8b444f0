// Makes control edges of the custom calls by which frontends ask for them.
//
//   d = () custom-call(a, b), custom_call_target="control_dep"
//     =>   b, control-predecessors={a}
//
// Requires: such calls have two operands and no user.  Ensures: none is left.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ControlDepRewriter final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
