// Drops dimensions of size 1 from convolutions over four spatial dimensions.
//
//   c = f32[1,8,1,1,8,4] convolution(f32[1,8,1,1,8,3] x, f32[3,1,1,3,3,4] k), window={size=3x1x1x3 pad=1_1x0_0x0_0x1_1},
//       dim_labels=b0123f_0123io->b0123f
//     =>   reshape(f32[1,8,8,4] convolution(reshape(x), reshape(k))), window={size=3x3
//          pad=1_1x1_1}, dim_labels=b01f_01io->b01f
//
// Libraries convolve over up to three. A dimension goes where input, kernel and result have one
// element along it and nothing is padded.
//
// Requires: nothing.  Ensures: no convolution over four spatial dimensions has such a one.
// Leaves alone: convolutions over fewer or more, dynamic shapes, fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class Convolution4dExpander final : public ExpanderPass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph, SideEffects>();

 protected:
  OpcodeSet Roots() const override { return {Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* conv, Rewriter& rewriter) override;
};

}  // namespace hlo
