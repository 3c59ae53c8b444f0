// Removes what calls pass on for nothing: parameters that are not read, and results that are
// parameters.
//
//   f(p, q, r) = tuple(p, add(p, q))               f(p, q) = tuple(add(p, q))
//   t = (f32[], f32[]) call(a, b, c)         =>    u = (f32[]) call(a, b)
//                                                  t = tuple(a, gte(u, 0))
//
// A parameter that only the root reads goes as well. tuple-simplifier removes the new tuple where
// it is taken apart.
//
// Requires: nothing.  Ensures: computations that only calls use and that give a tuple read their
// parameters and compute what they give, but for those below.
// Leaves alone: computations with other results than a tuple; composite calls, whose operands and
// results belong to a name; parameters with control edges. Parameters stay results where the root
// is read in the computation, where the root or a call has a sharding, an origin or (the root)
// control edges, and where a call gives an operand of another layout.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CallParameterCleanup final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
