#include "passes/util/own_computations.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/status.h"
#include "passes/util/growth_limit.h"

namespace hlo {
namespace {

bool HasOtherCallers(const Computation& computation, const OpcodeSet& callers) {
  return absl::c_any_of(computation.callers(),
                        [&](const CallSite& site) { return !callers.Has(site.caller->opcode()); });
}

}  // namespace

absl::StatusOr<bool> GiveOwnComputations(Module& module, const OpcodeSet& callers) {
  GrowthLimit growth;
  std::vector<Computation*> waiting = module.NonFusionComputations();
  const size_t given = waiting.size();
  absl::flat_hash_set<const Computation*> taken;  // by the first that calls it
  // What a copy calls is shared with what it is a copy of, until the copy is looked at.
  for (size_t i = 0; i < waiting.size(); ++i) {
    Computation& computation = *waiting[i];
    if (!computation.MayHoldAny(callers)) continue;
    for (Instruction* caller : computation.instruction_vector()) {
      if (!callers.Has(caller->opcode())) continue;
      for (int k = 0; k < caller->call_count(); ++k) {
        const Computation& callee = *caller->call(k);
        if (!HasOtherCallers(callee, callers) && taken.insert(&callee).second) continue;
        RETURN_IF_ERROR(growth.Add(callee.instruction_count(), *caller));
        Computation* const copy = module.CloneComputation(callee, ".clone", /*deep=*/false);
        module.MoveToFront(copy, &computation);
        caller->SetCall(k, copy);
        waiting.push_back(copy);
      }
    }
  }
  return waiting.size() > given;
}

}  // namespace hlo
