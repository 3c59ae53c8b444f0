#include "passes/collectives/convert_async_collectives_to_sync.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
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
  absl::flat_hash_set<const Instruction*> earlier;
  for (Instruction* instruction : schedule) {
    const auto is_earlier = [&](const Instruction* other) { return earlier.contains(other); };
    if (StartsCollective(*instruction)) {
      running.push_back(instruction);
    } else if (EndsCollective(*instruction)) {
      Instruction* const start = instruction->operand(0);
      if (std::erase(running, start) == 1 && start->uses().size() == 1 &&
          absl::c_none_of(start->control_successors(), is_earlier))
        pairs.push_back({start, instruction});
    } else if (!kNothingToDo.Has(instruction->opcode())) {
      running.clear();
    }
    earlier.insert(instruction);
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
