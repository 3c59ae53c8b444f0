#include "passes/collectives/async_collective_replacer.h"

#include "absl/algorithm/container.h"
#include "passes/collectives/sync_collectives.h"

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

}  // namespace

absl::StatusOr<bool> AsyncCollectiveReplacer::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    for (Instruction* done : computation->PostOrder()) {
      if (!EndsCollective(*done)) continue;
      Instruction* const start = done->operand(0);
      const std::vector<Instruction*> asked = ControlDepsOfPair(*start, *done);
      if (!StartsCollective(*start) || !MayJoin(start, done) || !absl::c_all_of(asked, IsUnread)) {
        context.Missed(*done, "it ends no pair that nothing else reads or runs within");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*done, "begun and ended at once");
      context.Count("replaced");
      for (Instruction* call : asked) computation->Remove(call);
      JoinCollective(start, done);
      changed = true;
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(AsyncCollectiveReplacer)

}  // namespace hlo
