// Writes the logistic function with elementary operations.
//
//   y = f32[7] logistic(x)      =>   y = 1 / (1 + exp(-x))
//
// Ensures: no `logistic` outside fusion bodies.
#pragma once

#include "passes/expander.h"

namespace hlo {

class LogisticExpander final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;  // one rounding more or less

 protected:
  OpcodeSet Roots() const override { return {Opcode::kLogistic}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* logistic, Rewriter& rewriter) override;
};

}  // namespace hlo
