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

  static auto Fields() {
    return std::tuple{Optional("min_size_bytes", &LiteralCanonicalizerOptions::min_size_bytes)};
  }
};

class LiteralCanonicalizer final : public Pass {
 public:
  using Options = LiteralCanonicalizerOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  explicit LiteralCanonicalizer(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
