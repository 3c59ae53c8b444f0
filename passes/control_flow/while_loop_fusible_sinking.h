// Moves values that are made of little into the loops that only carry them, where what reads them
// may be fused with them.
//
//   b = broadcast(s),  w = while(tuple(i, b)), body { … add(x, gte(p, 1)) …  tuple(j, gte(p, 1)) }
//     =>   w = while(tuple(i, b, s)), body { … b' = broadcast(gte(p, 2)), add(x, b') … }
//
// What moves is made by elementwise operations, reshapes and transposes of broadcasts, iotas and
// scalar constants only, 100 of them at most; what these read is carried in addition. Elements that
// nobody reads any more stay for simplify-while-loops.
//
// Requires: nothing.  Ensures: `dce` has run if anything moved.
// Leaves alone: values that the body slices, gathers from or looks up by dynamic-slice; loops whose
// state is not built by `tuple`, whose body does not build it so, or whose computations others
// call, too, or do not read element by element; conditions, which go on reading the state.
#pragma once

#include "passes/pass.h"

namespace hlo {

class WhileLoopFusibleSinking final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
