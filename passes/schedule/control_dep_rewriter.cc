#include "passes/schedule/control_dep_rewriter.h"

#include "lib/analysis/reachability.h"
#include "lib/ir/custom_call.h"

namespace hlo {
namespace {

bool AsksForEdge(const Instruction& instruction) {
  return IsCustomCall(instruction, "control_dep");
}

absl::Status Check(const Instruction& call) {
  if (call.operand_count() != 2) {
    return Error(call.loc(), "`{}` asks for a control edge between two values, but has {} operands",
                 call.name(), call.operand_count());
  }
  if (call.is_used()) {
    return Error(call.loc(), "`{}` asks for a control edge; nothing may read it, but `{}` does",
                 call.name(), call.is_root() ? "the result" : call.users().front()->name());
  }
  const Instruction *before = call.operand(0), *after = call.operand(1);
  if (Reachability(*call.parent()).DependsOn(before, after)) {
    return Error(call.loc(), "`{}` asks for `{}` before `{}`, which it needs", call.name(),
                 before->name(), after->name());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ControlDepRewriter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kCustomCall})) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (!AsksForEdge(*instruction)) continue;
      RETURN_IF_ERROR(Check(*instruction));
      if (!context.MayRewrite()) return changed;
      Instruction *const before = instruction->operand(0), *const after = instruction->operand(1);
      context.Passed(*instruction, "`{}` comes before `{}`", before->name(), after->name());
      context.Count("edges");
      if (before != after) after->AddControlPredecessor(before);
      instruction->DropControlEdges();
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ControlDepRewriter)

}  // namespace hlo
