// Removes tuples that are built only to be taken apart.
//
//   t = (f32[4], s32[]) tuple(a, b)
//   x = f32[4] get-tuple-element(t), index=0      =>   uses of x become uses of a
//
//   t' = tuple(gte(t, 0), gte(t, 1))              =>   uses of t' become uses of t
//
// A replacement without sharding takes that of what it replaces. What ran before that by control
// edges runs before its readers; what ran after it, after the replacement.
//
// Requires: nothing.  Ensures: no get-tuple-element has a tuple as operand, except where a
// sharding would get lost.
// Leaves alone: instructions with another sharding than their replacement; in fusion bodies,
// elements beside which others are read nowhere else (parameters of fusions must be read); the
// entry computation with `exclude_entry_computation`.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

struct TupleSimplifierOptions {
  bool exclude_entry_computation = false;

  HLO_OPTIONS(TupleSimplifierOptions, exclude_entry_computation)
};

class TupleSimplifier final : public RewritePass {
 public:
  using Options = TupleSimplifierOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<SideEffects>();
  explicit TupleSimplifier(Options options = {});
};

}  // namespace hlo
