// Lets equal constants share the memory of their elements.
//
//   a = f32[1000] constant({1, 2, …})          the text stays; the elements are
//   b = f32[1000] constant({1, 2, …})          in memory once
//
// Arrays of at least `min_size_bytes` bytes, of the whole module and inside tuples, layouts and
// shapes not looked at; counted as `shared literals` and `saved bytes`. What is visible is memory:
// copies of a module share elements anyway, a module read from text has them once for each
// constant.
//
// Requires: nothing.  Ensures: arrays of equal type, size and bits share them.
// Leaves alone: smaller arrays, elided constants.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct LiteralCanonicalizerOptions {
  int64_t min_size_bytes = 0;

  HLO_OPTIONS(LiteralCanonicalizerOptions, min_size_bytes)
};

class LiteralCanonicalizer final : public WithOptions<Pass, LiteralCanonicalizerOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
