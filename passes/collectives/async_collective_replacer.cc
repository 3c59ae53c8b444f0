#include "passes/collectives/async_collective_replacer.h"

#include "absl/algorithm/container.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/custom_call.h"
#include "passes/collectives/sync_collectives.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// Those that ask for an order with one of the halves. Both being one, the order is not to be had.
std::vector<Instruction*> ControlDepsOfPair(const Instruction& start, const Instruction& done) {
  std::vector<Instruction*> calls = ControlDeps(start);
  for (Instruction* call : ControlDeps(done)) {
    if (!absl::c_linear_search(calls, call)) calls.push_back(call);
  }
  return calls;
}

bool IsUnread(const Instruction* call) { return !call->is_used() && !call->has_control_edges(); }

// ---- starts that tuples hand on ----

// Whether `done` alone reads what `start` gives, but for what only hands it on, which comes to
// `between`, and for calls that ask for an order.
class OnlyDoneReads {
 public:
  OnlyDoneReads(const Instruction& start, const Instruction& done,
                std::vector<Instruction*>& between)
      : start_(start), done_(done), between_(between) {}

  // `path`: where in `value` the start is, innermost index first.
  bool Check(const Instruction& value, const std::vector<int64_t>& path) {
    if (value.is_root() || (&value != &start_ && value.has_control_edges())) return false;
    return absl::c_all_of(value.uses(), [&](const Use& use) { return CheckUse(use, path); });
  }

 private:
  bool CheckUse(const Use& use, std::vector<int64_t> path) {
    Instruction* const user = use.user;
    const Instruction& value = *user->operand(use.operand_index);
    if (user == &done_ || (&value == &start_ && IsCustomCall(*user, "control_dep"))) return true;
    if (user->opcode() == Opcode::kGetTupleElement) {
      if (path.empty()) return false;
      // Other elements can be read from where the tuple has them.
      if (user->tuple_index() != path.back()) return value.opcode() == Opcode::kTuple;
      path.pop_back();
    } else if (user->opcode() == Opcode::kTuple) {
      path.push_back(use.operand_index);
    } else if (!PassesOperandOn(*user) || use.operand_index != 0) {
      return false;
    }
    between_.push_back(user);
    return Check(*user, path);
  }

  const Instruction& start_;
  const Instruction& done_;
  std::vector<Instruction*>& between_;
};

// The start that `done` ends, which tuples and the like may have handed on; null: none is here.
Instruction* StartOf(const Instruction& done) {
  const Instruction* const start = TraceValue(done.operand(0));
  if (start == nullptr || start->parent() != done.parent() || !StartsCollective(*start))
    return nullptr;
  return const_cast<Instruction*>(start);
}

// Lets `done` read `start` itself, and others the elements of tuples from where they come.
void ReadDirectly(Instruction* start, Instruction* done, const std::vector<Instruction*>& between) {
  Computation& computation = *done->parent();
  for (const Instruction* tuple : between) {
    if (tuple->opcode() != Opcode::kTuple) continue;
    for (Instruction* element : tuple->users()) {
      if (absl::c_linear_search(between, element)) continue;
      Instruction* const value = tuple->operand(static_cast<int>(element->tuple_index()));
      ReplaceKeepingExtras(element, value, computation.module().id_limit());
    }
  }
  done->ReplaceOperand(0, start);
  for (auto handed = between.rbegin(); handed != between.rend(); ++handed) {
    if (!(*handed)->is_dead()) computation.RemoveUnused(*handed);
  }
}

}  // namespace

absl::StatusOr<bool> AsyncCollectiveReplacer::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    for (Instruction* done : computation->PostOrder()) {
      if (!HasTrait(done->opcode(), kAsyncDone)) continue;
      Instruction* const start = StartOf(*done);
      if (start == nullptr && !EndsCollective(*done)) continue;
      std::vector<Instruction*> between;
      if (start == nullptr || !OnlyDoneReads(*start, *done, between).Check(*start, {}) ||
          !MayJoin(start, done) || !absl::c_all_of(ControlDepsOfPair(*start, *done), IsUnread)) {
        context.Missed(*done, "it ends no pair that nothing else reads or runs within");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*done, "begun and ended at once");
      context.Count("replaced");
      ReadDirectly(start, done, between);
      for (Instruction* call : ControlDepsOfPair(*start, *done)) computation->Remove(call);
      JoinCollective(start, done);
      changed = true;
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(AsyncCollectiveReplacer)

}  // namespace hlo
