// Moves constants that a loop only carries into the loop.
//
//   w = while(tuple(i, c = constant)), body=b { … add(x, gte(p, 1)) …  ROOT tuple(j, gte(p, 1)) }
//       =>   body=b.sunk { … add(x, c' = constant) …  ROOT tuple(j, gte(p, 1)) }
//
// The element stays in the state; `simplify-while-loops` removes it. The condition reads the
// constant, too.
//
// Options: `sink_broadcast_of_constants` also moves broadcasts of constants,
// `sink_only_scalar_constants` moves nothing but scalars.
//
// Requires: nothing; run it before the bodies are simplified.
// Leaves alone: loops whose initial state or root is not built by `tuple`; reads of the element in
// the body besides the one that the root passes on (as XLA does; `cse` makes one of them).
// Computations that others call, too, are copied first; what nobody calls then is removed.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WhileLoopConstantSinkingOptions {
  bool sink_broadcast_of_constants = false;
  bool sink_only_scalar_constants = false;

  HLO_OPTIONS(WhileLoopConstantSinkingOptions, sink_broadcast_of_constants,
              sink_only_scalar_constants)
};

class WhileLoopConstantSinking final : public WithOptions<Pass, WhileLoopConstantSinkingOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  absl::StatusOr<bool> Sink(Instruction* loop, PassContext& context) const;
  bool MaySink(const Instruction& value) const;
};

}  // namespace hlo
