// Gives every conditional tuples for operands, parameters and results.
//
//   c = f32[4] conditional(p, x, y)      =>   t = (f32[4]) conditional(p, tuple(x), tuple(y))
//                                             c = f32[4] get-tuple-element(t), index=0
//
// Branch computations take and give one-element tuples where they took and gave other values; one
// that others call, too, is copied first.
//
// Requires: nothing.  Ensures: operands (but the index), branch parameters and results of
// conditionals outside fusion bodies are tuples, but of those that run asynchronously.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConditionalCanonicalizer final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
