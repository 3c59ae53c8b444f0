#include "passes/control_flow/unflatten_call_graph.h"

#include "absl/container/flat_hash_set.h"
#include "passes/util/twin_computations.h"

namespace hlo {
namespace {

// The calls of `computation`, in a lasting order.
std::vector<Instruction*> CallsOf(const Computation& computation) {
  std::vector<Instruction*> calls;
  for (const CallSite& site : computation.callers()) {
    if (site.caller->opcode() == Opcode::kCall) calls.push_back(site.caller);
  }
  absl::c_sort(calls, [](const Instruction* a, const Instruction* b) { return a->id() < b->id(); });
  return calls;
}

bool CallsAnyOf(const absl::flat_hash_set<const Computation*>& callees,
                const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    for (const Computation* callee : instruction->calls()) {
      if (callees.contains(callee)) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> UnflattenCallGraph::Run(Module& module, PassContext& context) {
  TwinComputations called({.compare_metadata = true});
  absl::flat_hash_set<const Computation*> unknown;  // hold elided constants, or call such
  bool changed = false;
  for (const auto& [computation, hash] : ContentHashes(module)) {
    const std::vector<Instruction*> calls = CallsOf(*computation);
    if (HoldsElided(*computation) || CallsAnyOf(unknown, *computation)) {
      unknown.insert(computation);
      continue;
    }
    if (calls.empty()) continue;
    Computation* const twin = called.Find(computation, hash);
    if (twin == nullptr) continue;
    for (Instruction* call : calls) {
      if (!context.MayRewrite()) break;
      context.Passed(*call, "it calls `{}`, which equals `{}`", twin->name(), computation->name());
      call->SetCall(0, twin);
      context.Count("unified");
      changed = true;
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(UnflattenCallGraph)

}  // namespace hlo
