#include "passes/sharding/sharding_remover.h"

#include "lib/support/contains.h"

namespace hlo {

bool ShardingRemover::Matches(const Instruction& call) const {
  constexpr std::string_view kTargets[] = {"Sharding", "SPMDFullToShardShape",
                                           "SPMDShardToFullShape"};
  return call.operand_count() == 1 &&
         Contains(kTargets, call.attrs<CustomCallAttrs>().custom_call_target) &&
         Compatible(call.shape(), call.operand(0)->shape());
}

absl::StatusOr<Instruction*> ShardingRemover::Expand(Instruction* call, Rewriter&) {
  return call->operand(0);
}

HLO_DEFINE_PASS(ShardingRemover)

}  // namespace hlo
