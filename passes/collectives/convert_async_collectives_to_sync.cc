#include "passes/collectives/convert_async_collectives_to_sync.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
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
      Instruction* const start = instruction->operand(0);
      if (std::erase(running, start) == 1 && start->uses().size() == 1)
        pairs.push_back({start, instruction});
    } else if (!kNothingToDo.Has(instruction->opcode())) {
      running.clear();
    }
  }
  return pairs;
}

// Joins pairs as long as the context lets it; each collective stands where its done stood.
bool JoinPairs(Computation& computation, PassContext& context) {
  absl::flat_hash_map<const Instruction*, Instruction*> stands_for;  // of halves; null for starts
  for (const Pair& pair : PairsToJoin(computation.schedule())) {
    if (!context.MayRewrite()) break;
    context.Passed(*pair.done, "nothing runs beside `{}`", pair.start->name());
    Instruction* const sync = JoinScheduledCollective(pair.start, pair.done);
    stands_for.insert({{pair.start, nullptr}, {pair.done, sync}});
    context.Count("joined");
  }
  if (stands_for.empty()) return false;
  std::vector<Instruction*> schedule;
  for (Instruction* instruction : computation.schedule()) {
    const auto half = stands_for.find(instruction);
    if (half == stands_for.end()) {
      schedule.push_back(instruction);
    } else if (half->second != nullptr) {
      schedule.push_back(half->second);
    }
  }
  computation.set_schedule(std::move(schedule));
  return true;
}

}  // namespace

absl::StatusOr<bool> ConvertAsyncCollectivesToSync::Run(Module& module, PassContext& context) {
  if (!module.is_scheduled()) return false;
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (computation->has_schedule() && JoinPairs(*computation, context)) changed = true;
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(ConvertAsyncCollectivesToSync)

}  // namespace hlo
