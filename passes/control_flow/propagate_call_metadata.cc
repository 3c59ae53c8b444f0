#include "passes/control_flow/propagate_call_metadata.h"

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/call_graph.h"
#include "passes/util/call_metadata.h"

namespace hlo {
namespace {

// `computation`, and what its loops, branches and asynchronous operations run; calls have their own
// say. Callers first.
std::vector<Computation*> RunWith(Computation* computation) {
  std::vector<Computation*> all = {computation};
  absl::flat_hash_set<const Computation*> known = {computation};
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Instruction* instruction : all[i]->PostOrder()) {
      const Opcode opcode = instruction->opcode();
      if (opcode == Opcode::kCall || CallKindOf(opcode) != CallKind::kControlFlow) continue;
      for (Computation* callee : instruction->calls()) {
        if (known.insert(callee).second) all.push_back(callee);
      }
    }
  }
  return all;
}

}  // namespace

absl::StatusOr<bool> PropagateCallMetadata::Run(Module& module, PassContext& context) {
  bool changed = false;
  const std::vector<Computation*> computations = context.NonFusionComputations(module);
  // Callers first: their names grow before they are passed on.
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    for (const Instruction* call : (*it)->PostOrder()) {
      if (call->opcode() != Opcode::kCall) continue;
      CallMetadata metadata(*call);
      if (metadata.empty()) continue;
      if (!context.MayRewrite()) return changed;
      for (const Computation* computation : RunWith(call->to_apply())) {
        for (Instruction* instruction : computation->instructions()) {
          if (!metadata.PassOn(*instruction)) continue;
          context.Count("named");
          changed = true;
        }
      }
    }
  }
  return changed;
}

HLO_DEFINE_PASS(PropagateCallMetadata)

}  // namespace hlo
