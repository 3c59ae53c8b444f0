// Splits reductions that are too long for one block of a GPU in two.
//
//   r = f32[] reduce(f32[50021] x, 0), dimensions={0}
//       =>   p = f32[50022] pad(x, 0), padding=0_1
//            s = f32[126] reduce(f32[126,397] bitcast(p), 0), dimensions={1}
//            r = f32[] reduce(s, 0), dimensions={0}
//
// Rows of a batch of more than 8 are reduced before the batch. The two steps are about as long as
// each other, with little padding; rows end even where that lets threads read pairs. One run splits
// once: very long reductions take several.
//
// Requires: row-major inputs with grouped dimensions (`reduction-layout-normalizer`,
// `reduction-dimension-grouper`, `reduction-splitter`).
// Leaves alone: what one block reduces without atomics, what a GPU does not reduce by warps anyway;
// dynamic shapes; initial values that would count twice.
#pragma once

#include "passes/expander.h"

namespace hlo {

class GpuTreeReductionRewriter final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduce}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo
