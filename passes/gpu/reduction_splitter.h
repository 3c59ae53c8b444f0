// Splits reductions over dimensions that lie apart: the largest is reduced first.
//
//   r = f32[16,32] reduce(f32[6,16,512,32] x, 0), dimensions={0,2}
//       =>   p = f32[6,16,32] reduce(x, 0), dimensions={2}
//            r = f32[16,32] reduce(p, 0), dimensions={0}
//
// Requires: row-major inputs without neighbouring reduced dimensions
// (`reduction-layout-normalizer`, `reduction-dimension-grouper`).
// Leaves alone: reductions that a GPU runs well as they are, of several arrays, of dynamic shapes;
// initial values that would count twice; with `ignore_small_dims` what reduces at most 8 elements
// along each dimension.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct ReductionSplitterOptions {
  bool ignore_small_dims = true;

  HLO_OPTIONS(ReductionSplitterOptions, ignore_small_dims)
};

class ReductionSplitter final : public WithOptions<ExpanderPass, ReductionSplitterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
