#include "passes/collectives/sync_collectives.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/reachability.h"
#include "lib/ir/control_edges.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/async_pairs.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// Of a collective with asynchronous forms of its own; null for other opcodes.
const AsyncPair* CollectivePairOf(Opcode opcode) {
  const AsyncPair* const pair = AsyncPairOf(opcode);
  const bool is_collective =
      pair != nullptr && pair->start != pair->opcode && HasTrait(pair->opcode, kCollective);
  return is_collective ? pair : nullptr;
}

// Whether `start` runs a collective of what it is given itself: not of values that a later part of
// its chain brings.
bool IsWrappedCollective(const Instruction& start) {
  if (start.opcode() != Opcode::kAsyncStart) return false;
  const Instruction& root = *start.call(0)->root();
  return HasTrait(root.opcode(), kCollective) &&
         absl::c_all_of(root.operands(), [&](const Instruction* operand) {
           return operand->opcode() == Opcode::kParameter &&
                  operand->parameter_number() < start.operand_count();
         });
}

Instruction* SyncOf(const Instruction& start, Shape shape) {
  Computation& computation = *start.parent();
  if (start.opcode() == Opcode::kAsyncStart) {
    const Instruction& wrapped = *start.call(0)->root();
    std::vector<Instruction*> operands;
    // The computation may take them in another order, and others that it does not read.
    for (const Instruction* parameter : wrapped.operands())
      operands.push_back(start.operand(static_cast<int>(parameter->parameter_number())));
    Instruction* const sync = computation.AddClone(wrapped, shape, operands);
    if (start.metadata() != OpMetadata()) sync->set_metadata(start.metadata());
    return sync;
  }
  Builder b(&computation, &start);
  return b.OpWithShape(AsyncPairOf(start.opcode())->opcode, shape, start.operand_vector(),
                       start.attrs_ptr(), start.calls());
}

}  // namespace

bool StartsCollective(const Instruction& instruction) {
  const AsyncPair* const pair = CollectivePairOf(instruction.opcode());
  return pair != nullptr ? pair->start == instruction.opcode() : IsWrappedCollective(instruction);
}

bool EndsCollective(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kAsyncDone)
    return IsWrappedCollective(*instruction.operand(0));
  const AsyncPair* const pair = CollectivePairOf(instruction.opcode());
  return pair != nullptr && pair->done == instruction.opcode();
}

std::vector<Instruction*> ControlDeps(const Instruction& half) {
  std::vector<Instruction*> calls;
  for (Instruction* user : half.users()) {
    if (IsCustomCall(*user, "control_dep")) calls.push_back(user);
  }
  return calls;
}

bool MayJoin(Instruction* start, Instruction* done) {
  const auto reads = absl::c_count_if(
      start->uses(), [](const Use& use) { return !IsCustomCall(*use.user, "control_dep"); });
  if (reads != 1 || start->is_root()) return false;
  const auto is_start = [&](const Instruction* other) { return other == start; };
  const auto is_done = [&](const Instruction* other) { return other == done; };
  if (absl::c_all_of(start->control_successors(), is_done) ||
      absl::c_all_of(done->control_predecessors(), is_start))
    return true;
  return !Reachability(*done->parent()).WouldMakeCycle({start, done});
}

Instruction* JoinCollective(Instruction* start, Instruction* done) {
  Computation& computation = *done->parent();
  const uint32_t first_new = computation.module().id_limit();
  Instruction* const sync = SyncOf(*start, done->shape());
  if (const Extras* extras = start->extras();
      extras != nullptr && sync->extras() == nullptr && !extras->frontend_attributes.empty())
    sync->mutable_extras().frontend_attributes = extras->frontend_attributes;
  PassOnBackendConfig(*start, sync);
  sync->mutable_extras().frontend_attributes["async_collective_name"] = std::string(start->name());
  MoveControlEdges(start, sync);
  MoveControlEdges(done, sync);
  ReplaceKeepingExtras(done, sync, first_new);
  computation.RemoveUnused(start);
  return sync;
}

Instruction* JoinScheduledCollective(Instruction* start, Instruction* done) {
  for (Instruction* const half : {start, done}) {
    half->DropControlEdges();
    half->clear_sharding();
  }
  return JoinCollective(start, done);
}

}  // namespace hlo
