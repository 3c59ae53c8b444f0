#include "passes/expand/optimization_barrier_expander.h"

#include "lib/ops/opcode_groups.h"

namespace hlo {

// What is done after a barrier need not be on the channel of what started before it.
bool OptimizationBarrierExpander::Matches(const Instruction& barrier) const {
  const Opcode before = barrier.operand(0)->opcode();
  return !kSendRecvStarts.Has(before);
}

absl::StatusOr<Instruction*> OptimizationBarrierExpander::Expand(Instruction* barrier, Rewriter&) {
  return barrier->operand(0);
}

HLO_DEFINE_PASS(OptimizationBarrierExpander)

}  // namespace hlo
