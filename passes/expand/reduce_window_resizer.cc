#include "passes/expand/reduce_window_resizer.h"

#include "passes/expand/column_window.h"

namespace hlo {

bool ReduceWindowResizer::Matches(const Instruction& instruction) const {
  return instruction.operand(0)->shape().rank() == 1 && IsOfOneKind(instruction);
}

absl::StatusOr<Instruction*> ReduceWindowResizer::Expand(Instruction* reduce_window,
                                                         Rewriter& rewriter) {
  const std::vector<Instruction*> operands = reduce_window->operand_vector();
  const auto middle = operands.begin() + static_cast<std::ptrdiff_t>(operands.size() / 2);
  const Arrays results = ReduceWindowOver({operands.begin(), middle}, {middle, operands.end()},
                                          reduce_window->attrs<ReduceWindowAttrs>().window,
                                          reduce_window->to_apply(), rewriter);
  return reduce_window->shape().IsTuple() ? rewriter.Tuple(results) : results[0];
}

HLO_DEFINE_PASS(ReduceWindowResizer)

}  // namespace hlo
