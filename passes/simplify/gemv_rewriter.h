// Writes products of a matrix and a vector as products of two matrices.
//
//   d = f32[4] dot(f32[4,3] a, f32[3] x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//     =>   f32[4] bitcast(f32[4,1] dot(a, f32[3,1] bitcast(x)))
//
// For back ends whose kernels are written for matrices. The new dimension has size 1 and is most
// minor, so that nothing moves. Option `is_layout_sensitive`: without it, for where layouts are to
// be assigned yet, reshapes stand for the bitcasts.
//
// Requires: layouts.  Ensures: in each dot of dense operands each operand has a dimension that the
// result keeps, batch dimensions aside.
// Leaves alone: dots of two vectors; layouts other than row-major (missing ones count as such);
// dynamic shapes; fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct GemvRewriterOptions {
  bool is_layout_sensitive = true;

  HLO_OPTIONS(GemvRewriterOptions, is_layout_sensitive)
};

class GemvRewriter final : public WithOptions<ExpanderPass, GemvRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;
};

}  // namespace hlo
