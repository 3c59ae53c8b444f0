// Puts producers into the loops of their consumers, as XLA:CPU does.
//
//   e = exponential(x)
//   r = add(e, y)            =>   r = fusion(y, x), kind=kLoop, calls={ add(exponential(x), y) }
//
// From the root upwards, each instruction takes in its operands: elementwise operations, what only
// moves elements, and reductions. What is cheap may be computed again by every consumer (with
// `may_duplicate`), unless that would read more than it saves. A dot that gives a vector takes in
// its matrix; the sum of such a dot and something else becomes an output fusion.
//
// Left alone: array constants; values that are expensive where elements are read several times or
// by several consumers; concatenations of more than 8 operands or along a long contiguous
// dimension; more than five reductions in one fusion; what an update in place still reads; values
// that feed a maximum and the exponential that is normalised by it; side effects, control edges;
// computations that run per element, and what scatters and custom calls call; what the fusion would
// compute again for more than 15 indices (index_evaluation.h).
//
// Requires: layouts.  Ensures: fusions have one root.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct InstructionFusionOptions {
  bool may_duplicate = true;

  HLO_OPTIONS(InstructionFusionOptions, may_duplicate)
};

class InstructionFusion final : public WithOptions<Pass, InstructionFusionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
