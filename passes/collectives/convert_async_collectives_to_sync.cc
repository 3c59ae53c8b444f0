#include "passes/collectives/convert_async_collectives_to_sync.h"

#include <algorithm>

#include "lib/ops/async_pairs.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kNothingToDo = {Opcode::kParameter, Opcode::kConstant, Opcode::kBitcast,
                                    Opcode::kGetTupleElement};

// Of a collective with asynchronous forms of its own; null for other opcodes.
const AsyncPair* CollectivePairOf(Opcode opcode) {
  const AsyncPair* const pair = AsyncPairOf(opcode);
  const bool is_collective =
      pair != nullptr && pair->start != pair->opcode && HasTrait(pair->opcode, kCollective);
  return is_collective ? pair : nullptr;
}

bool IsWrappedCollective(const Instruction& start) {
  return start.opcode() == Opcode::kAsyncStart &&
         HasTrait(start.call(0)->root()->opcode(), kCollective);
}

bool IsStart(const Instruction& instruction) {
  const AsyncPair* const pair = CollectivePairOf(instruction.opcode());
  return pair != nullptr ? pair->start == instruction.opcode() : IsWrappedCollective(instruction);
}

bool IsDone(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kAsyncDone)
    return IsWrappedCollective(*instruction.operand(0));
  const AsyncPair* const pair = CollectivePairOf(instruction.opcode());
  return pair != nullptr && pair->done == instruction.opcode();
}

struct Pair {
  Instruction *start, *done;
};

// In the order of the dones.
std::vector<Pair> PairsToJoin(const std::vector<Instruction*>& schedule) {
  std::vector<Pair> pairs;
  std::vector<Instruction*> running;
  for (Instruction* instruction : schedule) {
    if (IsStart(*instruction)) {
      running.push_back(instruction);
    } else if (IsDone(*instruction)) {
      if (std::erase(running, instruction->operand(0)) == 1 &&
          instruction->operand(0)->uses().size() == 1)
        pairs.push_back({instruction->operand(0), instruction});
    } else if (!kNothingToDo.Has(instruction->opcode())) {
      running.clear();
    }
  }
  return pairs;
}

Instruction* SyncOf(const Instruction& start, Shape shape) {
  Computation& computation = *start.parent();
  if (start.opcode() == Opcode::kAsyncStart)
    return computation.AddClone(*start.call(0)->root(), shape, start.operand_vector());
  Builder b(&computation);
  b.set_origin(&start);
  return b.OpWithShape(AsyncPairOf(start.opcode())->opcode, shape, start.operand_vector(),
                       start.attrs_ptr(), start.calls());
}

void Join(const Pair& pair) {
  Computation& computation = *pair.done->parent();
  const uint32_t first_new = computation.module().id_limit();
  Instruction* const sync = SyncOf(*pair.start, pair.done->shape());
  if (const Extras* extras = pair.start->extras();
      extras != nullptr && sync->extras() == nullptr && !extras->frontend_attributes.empty())
    sync->mutable_extras().frontend_attributes = extras->frontend_attributes;
  sync->mutable_extras().frontend_attributes["async_collective_name"] =
      std::string(pair.start->name());
  for (Instruction* const half : {pair.start, pair.done}) {
    for (Instruction* earlier : half->control_predecessors()) {
      if (earlier != pair.start) sync->AddControlPredecessor(earlier);
    }
    for (Instruction* later : half->control_successors()) {
      if (later != pair.done) later->AddControlPredecessor(sync);
    }
    half->DropControlEdges();
  }
  ReplaceKeepingExtras(pair.done, sync, first_new);
  computation.RemoveUnused(pair.start);
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
      Join(pair);
      context.Count("joined");
      changed = true;
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(ConvertAsyncCollectivesToSync)

}  // namespace hlo
