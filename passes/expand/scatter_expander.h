// Writes scatters as loops over dynamic-update-slices.
//
//   s = scatter(x, indices, updates), to_apply=f
//       =>   for (i = 0; i < number of index vectors; ++i)
//              if (slice at start i lies inside x) x[start i] = f(x[start i], updates[i])
//
// Updates are applied in order, one index vector at a time. Scatters of several
// operands give a tuple.
//
// `simple`: only scatters with one index vector. `indeterministic`: only those whose result may
// depend on the order of updates: the combiner is not an associative and commutative operation that
// is exact, and the indices are not promised to be unique.
//
// Requires: nothing.  Ensures: without options, no scatter is left outside fusion bodies.  Leaves
// alone: dynamic shapes; more than 2^31 - 1 index vectors are an error.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct ScatterExpanderOptions {
  bool simple = false;
  bool indeterministic = false;

  HLO_OPTIONS(ScatterExpanderOptions, simple, indeterministic)
};

class ScatterExpander : public ExpanderPass {
 public:
  using Options = ScatterExpanderOptions;
  explicit ScatterExpander(Options options = {}) : options_(options) {}

 protected:
  OpcodeSet Roots() const override { return {Opcode::kScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* scatter, Rewriter& rewriter) override;

 private:
  Options options_;
};

}  // namespace hlo
