#include "passes/expand/logistic_expander.h"

namespace hlo {

bool LogisticExpander::Matches(const Instruction&) const { return true; }

// logistic(x)  =>  1 / (1 + exp(-x))
// No clamp needed: for very negative x, exp(-x) is +inf and 1 / inf is the right 0.
absl::StatusOr<Instruction*> LogisticExpander::Expand(Instruction* logistic, Rewriter& rewriter) {
  Instruction* x = logistic->operand(0);
  Instruction* one = rewriter.ConstantLike(x, 1);
  return rewriter.Divide(one, rewriter.Add(one, rewriter.Exp(rewriter.Negate(x))));
}

HLO_DEFINE_PASS(LogisticExpander)

}  // namespace hlo
