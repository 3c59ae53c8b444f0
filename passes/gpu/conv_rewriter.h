// Lets cuDNN convolve.
//
//   y = convolution(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01
//     =>   c = (f32[…], u8[0]) custom-call(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01,
//                custom_call_target="__cudnn$convForward", backend_config={…"conv_result_scale":1…}
//          y = get-tuple-element(c), index=0
//
// Two forms that gradients have are calls of their own, in this order; their window and dimension
// labels are those of the convolution whose gradient it is:
//   - of the input: the kernel is reversed (or 1x1, or a constant, beside a dilated input)
//       => __cudnn$convBackwardInput(gradient, kernel as it was)
//   - of the kernel: the window is as large as what it slides over
//       => __cudnn$convBackwardFilter(input, gradient)
// Batches in groups become features in groups.
//
// Options: f8e4m3fn and f8e5m2, as operands and as result, want a `compute_capability` of 9.0, with
// a `dnn_version` of 9.8.0 or more of 8.9; below they are errors.
//
// Requires: nothing. Ensures: nothing. Complex types, f4 and other types of f8 are errors.
// Leaves alone: more than three spatial dimensions; arrays without elements; windows reversed in
// some dimensions only; convolutions with a kind of their own or a sparse operand; dynamic shapes;
// results of integers below 32 bits, which wrap where cuDNN's do not.
#pragma once

#include "passes/expander.h"
#include "passes/gpu/dnn_version.h"

namespace hlo {

struct ConvRewriterOptions {
  CudaCapability compute_capability;
  DnnVersion dnn_version;

  HLO_OPTIONS(ConvRewriterOptions, compute_capability, dnn_version)
};

class ConvRewriter final : public WithOptions<ExpanderPass, ConvRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* convolution, Rewriter& rewriter) override;
};

}  // namespace hlo
