#include "passes/expand/optimization_barrier_expander.h"

namespace hlo {

absl::StatusOr<Instruction*> OptimizationBarrierExpander::Expand(Instruction* barrier, Rewriter&) {
  return barrier->operand(0);
}

HLO_DEFINE_PASS(OptimizationBarrierExpander)

}  // namespace hlo
