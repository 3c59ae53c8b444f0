#include "passes/collectives/convert_async_collectives_to_sync.h"

#include <algorithm>

#include "passes/collectives/sync_collectives.h"

namespace hlo {
namespace {

constexpr OpcodeSet kNothingToDo = {Opcode::kParameter, Opcode::kConstant, Opcode::kBitcast,
                                    Opcode::kGetTupleElement};

struct Pair {
  Instruction *start, *done;
};

// In the order of the dones.
std::vector<Pair> PairsToJoin(const std::vector<Instruction*>& schedule) {
  std::vector<Pair> pairs;
  std::vector<Instruction*> running;
  for (Instruction* instruction : schedule) {
    if (StartsCollective(*instruction)) {
      running.push_back(instruction);
    } else if (EndsCollective(*instruction)) {
      if (std::erase(running, instruction->operand(0)) == 1 &&
          instruction->operand(0)->uses().size() == 1)
        pairs.push_back({instruction->operand(0), instruction});
    } else if (!kNothingToDo.Has(instruction->opcode())) {
      running.clear();
    }
  }
  return pairs;
}

}  // namespace

absl::StatusOr<bool> ConvertAsyncCollectivesToSync::Run(Module& module, PassContext& context) {
  if (!module.is_scheduled()) return false;
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (!computation->has_schedule()) continue;
    for (const Pair& pair : PairsToJoin(computation->schedule())) {
      if (!context.MayRewrite()) return changed;
      context.Passed(*pair.done, "nothing runs beside `{}`", pair.start->name());
      JoinCollective(pair.start, pair.done);
      context.Count("joined");
      changed = true;
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(ConvertAsyncCollectivesToSync)

}  // namespace hlo
