// Writes batch normalisations as reductions and elementwise operations.
//
//   training(x, scale, offset)         =>   y = (x - mean) * rsqrt(var + eps) * scale + offset;  (y, mean, var)
//   inference(x, scale, offset, m, v)  =>   x * s + (offset - m * s)                 with s = scale * rsqrt(v + eps)
//   grad(x, scale, m, v, gy)           =>   (scale * rsqrt(v + eps) / n * (n * gy - sum(gy) - (x - m) * sum(gy * (x - m)) / (v + eps)),
//                                            sum(gy * (x - m)) * rsqrt(v + eps), sum(gy))
//
// Sums run over all dimensions but `feature_index`; mean = sum(x) / n, var = sum(x * x) / n - mean
// * mean, n is computed from the sizes of these dimensions at run time. One option per kind
// switches it off. Results are not rounded as the operations themselves round.
//
// Requires: nothing.  Ensures: none of the chosen operations is left outside fusion bodies. A
// sharding of the operation moves to the result; of what is inside, arrays of the operand's size
// are divided as the first result, others replicated, or on the device of the operation.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

struct BatchnormExpanderOptions {
  bool rewrite_training_op = true;
  bool rewrite_inference_op = true;
  bool rewrite_grad_op = true;

  HLO_OPTIONS(BatchnormExpanderOptions, rewrite_training_op, rewrite_inference_op, rewrite_grad_op)
};

class BatchnormExpander final : public WithOptions<ExpanderPass, BatchnormExpanderOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return kBatchNorms; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
