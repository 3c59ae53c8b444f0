// Lets cuDNN normalise batches.
//
//   r = batch-norm-inference(x, scale, offset, mean, var), epsilon=e, feature_index=i
//     =>   r = custom-call(x, scale, offset, mean, var, e, i), custom_call_target="__cudnn$batchNormalizationForwardInference"
//   t = batch-norm-training(x, scale, offset)
//     =>   c = custom-call(x, scale, offset, e, i)      its third value is 1/sqrt(variance + e)
//          t = tuple(y, mean, power(third, -2) - e)
//   g = batch-norm-grad(x, scale, mean, var, gy)
//     =>   c = custom-call(x, scale, mean, rsqrt(var + e), gy, e, i)
//          g = tuple of its three values
//
// What was f16 before it was converted for the operation, and becomes f16 after it, goes in and
// comes out as f16: where the result is read as f32 it has the digits of f32.
//
// Requires: nothing. Ensures: nothing.
// Leaves alone: other types than f32; arrays without elements; epsilons below 1e-5, which cuDNN
// does not take; dynamic shapes.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

class CudnnBatchnormRewriter final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return kBatchNorms; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* norm, Rewriter& rewriter) override;
};

}  // namespace hlo
