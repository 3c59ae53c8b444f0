// Moves values that are made of little into the loops that only carry them, where what reads them
// may be fused with them.
//
//   b = broadcast(s),  w = while(tuple(i, b)), body { … add(x, gte(p, 1)) …  tuple(j, gte(p, 1)) }
//     =>   w = while(tuple(i, b, s)), body { … b' = broadcast(gte(p, 2)), add(x, b') … }
//
// What moves is made by elementwise operations, reshapes and transposes of broadcasts, iotas and
// constants only, 100 of them at most where some are read twice; what these read is carried in
// addition. The state goes on holding the value, also where the body has no other use of it: other
// reads of the element than the one that is handed on read the state. Elements that nobody reads
// any more stay for simplify-while-loops.
//
// With `sink_broadcast_of_constant`, elements that start as a broadcast of a constant and are
// computed anew by an elementwise operation in each iteration start as a buffer that nobody wrote:
//
//   tuple(0, broadcast(c)),  body { … add(x, gte(p, 1)) … }
//     =>   tuple(0, custom-call AllocateBuffer, 0),
//          body { … add(x, select(gte(p, 0) == gte(p, 2), broadcast(c), gte(p, 1))) … }
//
// Requires: nothing.  Ensures: nothing; run `dce` after.
// Leaves alone: values that the body slices, gathers from or looks up by dynamic-slice; loops whose
// state is not built by `tuple`, whose body does not build it so, or whose computations others
// call, too, or do not read element by element; conditions, which go on reading the state. Of the
// option: loops with shardings, of unknown or no iterations, without an integer counter that only
// add or subtract changes; elements that the body reads several times.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WhileLoopFusibleSinkingOptions {
  bool sink_broadcast_of_constant = false;

  HLO_OPTIONS(WhileLoopFusibleSinkingOptions, sink_broadcast_of_constant)
};

class WhileLoopFusibleSinking final : public WithOptions<Pass, WhileLoopFusibleSinkingOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
