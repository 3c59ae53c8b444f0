#include "passes/control_flow/propagate_call_metadata.h"

#include <algorithm>

namespace hlo {
namespace {

std::string_view NameOf(const Instruction& instruction) { return instruction.metadata().op_name; }

// What all callers are called, if they are calls and loops and agree; empty otherwise.
std::string_view NameOfCallers(const Computation& computation) {
  std::string_view name;
  for (const CallSite& site : computation.callers()) {
    const Instruction& caller = *site.caller;
    const bool runs = caller.opcode() == Opcode::kCall || caller.opcode() == Opcode::kWhile;
    if (!runs || (!name.empty() && NameOf(caller) != name)) return "";
    name = NameOf(caller);
  }
  return name;
}

}  // namespace

absl::StatusOr<bool> PropagateCallMetadata::Run(Module& module, PassContext& context) {
  bool changed = false;
  const std::vector<Computation*> computations = context.NonFusionComputations(module);
  // Callers first: their names grow before they are passed on.
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    const std::string prefix(NameOfCallers(**it));
    if (prefix.empty()) continue;
    for (Instruction* instruction : (*it)->instructions()) {
      const std::string_view name = NameOf(*instruction);
      if (name.starts_with(prefix)) continue;
      if (!context.MayRewrite()) return changed;
      std::string longer = name.empty() ? prefix : fmt::format("{}/{}", prefix, name);
      instruction->mutable_extras().metadata.op_name = std::move(longer);
      context.Count("named");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(PropagateCallMetadata)

}  // namespace hlo
