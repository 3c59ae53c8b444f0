// Splits long reductions into a tree: windows are reduced first, then what they give.
//
//   r = f32[50] reduce(x, 0), dimensions={1}
//       =>   w = f32[50,4] reduce-window(x, 0), window={size=1x32 stride=1x32 pad=0_0x14_14}
//            r = f32[50] reduce(w, 0), dimensions={1}
//
// Sums of floats become more accurate, and rounding differs. One run splits once.
//
// Requires: nothing.  Ensures: no reduction of the form below is longer than it was.
// Leaves alone: reductions of several arrays at once, of dynamic shapes, over no dimension longer
// than `reduce_window_size`; reductions whose start value would count several times (it is neither
// known to be the identity of the operation nor is the operation idempotent); fusion bodies.
#pragma once

#include "passes/expander.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct TreeReductionRewriterOptions {
  IntIn<1> reduce_window_size{32};

  HLO_OPTIONS(TreeReductionRewriterOptions, reduce_window_size)
};

class TreeReductionRewriter final : public WithOptions<ExpanderPass, TreeReductionRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
