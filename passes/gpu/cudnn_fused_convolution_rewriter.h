// Lets cuDNN do what surrounds a convolution: conversions, a factor, a second input, a bias, an
// activation.
//
//   c = (f32[…], u8[0]) custom-call(x, w), custom_call_target="__cudnn$convForward", …
//   y = f32[…] get-tuple-element(c), index=0
//   m = maximum(add(multiply(y, broadcast(2)), broadcast(bias)), broadcast(0))
//     =>   c = (f32[…], u8[0]) custom-call(x, w, bias), custom_call_target="__cudnn$convBiasActivationForward",
//                backend_config={…"activation_mode":"kRelu","conv_result_scale":2,…}
//          m = get-tuple-element(c), index=0
//
// In this order, where nobody else reads the convolution: conversions of sums, s32 or s8, to f32
// (those of s8 end at -128 and 127 no more), and of f32 to s8; a constant factor of them; what is
// added, a bias where it is one number for each feature, else a second input, whose own constant
// factor goes along; relu; elu, relu6 and leaky relu of f16 (with `use_runtime_fusion`, from
// compute capability 7.5); then f32 that was f16, or s8, before and after, becomes f16 or s8, and
// the first steps are tried again. Sums of s8 never wrap: results of s8 are clamped, as the clamp
// says that is taken in.
//
// Convolutions of f8 come first, and the pass does nothing else then: with all that follows them
// they become calls of a graph (f8_conv_graphs.h), from compute capability 9.0 and a
// `toolkit_version` of 12.0 on, with a `dnn_version` of 9.8.0 from 8.9 on.
//
// Options: `compute_capability`, `use_runtime_fusion`, `dnn_version`, `toolkit_version`.
//
// Requires: `conv-rewriter` has run. Ensures: no call of a forward convolution has integers other
// than s8; an error where one does.
// Leaves alone: convolutions of every feature by itself, but for conversions; calls with control
// edges; convolutions of f8 on other GPUs.
#pragma once

#include "passes/gpu/dnn_version.h"

namespace hlo {

struct CudnnFusedConvolutionRewriterOptions {
  CudaCapability compute_capability;
  bool use_runtime_fusion = false;
  DnnVersion dnn_version;
  DnnVersion toolkit_version = {12, 0, 0};

  HLO_OPTIONS(CudnnFusedConvolutionRewriterOptions, compute_capability, use_runtime_fusion,
              dnn_version, toolkit_version)
};

class CudnnFusedConvolutionRewriter final
    : public WithOptions<Pass, CudnnFusedConvolutionRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
