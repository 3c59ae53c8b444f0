// Lets no instruction see bf16 and f32 at once: where both meet, one of them is converted.
//
//   s = f32[4] add(bf16[4] x, f32[4] y)      =>   s = f32[4] add(f32[4] convert(x), y)
//
// An operation that only moves or picks values (concatenate, maximum, select, …) and whose result
// is bf16 gets bf16 operands; any other gets f32 operands and an f32 result that is converted back.
// Combiners then work on f32 and round to bf16 where they did before.
//
// Requires: nothing.  Ensures: outside fusion bodies, instructions other than those below have no
// bf16 next to f32.
// Leaves alone: convert, bitcast, bitcast-convert, tuples, parameters, constants, domain,
// calls, loops, conditionals, fusions, custom calls, asynchronous operations, side effects,
// collectives with combiners.
#pragma once

#include "passes/pass.h"

namespace hlo {

class Bf16MixedPrecisionRemoval final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
