#include "passes/simplify/zero_sized_hlo_elimination.h"

#include "lib/analysis/side_effects.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/custom_call.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// Marks a change of view only; it is declared with a side effect to survive dce.
bool IsShardyShapeMarker(const Instruction& instruction) {
  return IsCustomCall(instruction, "xla.sdy.LocalToGlobalShape");
}

bool IsZeroSizedCandidate(const Instruction& instruction, SideEffects& effects) {
  const Shape shape = instruction.shape();
  if (!shape.IsArray() || !shape.IsZeroSized() || shape.has_dynamic_dims()) return false;
  if (instruction.IsConstant() || instruction.has_control_edges()) return false;
  // The start of its chain would be left without an end.
  if (HasTrait(instruction.opcode(), kAsyncDone)) return false;
  if (!instruction.has_uses() && !instruction.is_root()) return false;
  return IsShardyShapeMarker(instruction) || !effects.Of(instruction);
}

// What is handed on until its done reads it.
bool IsHandedOnUnderWay(const Instruction& value) {
  return (value.opcode() == Opcode::kGetTupleElement || PassesOperandOn(value)) &&
         IsUnderWay(value);
}

}  // namespace

absl::StatusOr<bool> ZeroSizedHloElimination::Run(Module& module, PassContext& context) {
  auto& effects = context.analyses().Get<SideEffects>(module);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (IsAsyncBody(*computation)) continue;  // it may hold one operation and its operands
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->is_dead() || !IsZeroSizedCandidate(*instruction, effects)) continue;
      if (IsHandedOnUnderWay(*instruction)) continue;
      if (!context.MayRewrite()) return changed;
      Shape shape = instruction->shape();
      if (!shape.has_layout()) shape = shape.WithDefaultLayout();
      Instruction* empty = computation->AddConstant(Literal(shape));
      empty->set_loc(instruction->loc());
      context.Count("replaced");
      context.Passed(*instruction, "it has no elements");
      changed = true;
      if (instruction->opcode() == Opcode::kParameter) {
        instruction->ReplaceAllUsesWith(empty);
        if (instruction->is_root()) computation->set_root(empty);
        continue;
      }
      if (instruction->metadata() != OpMetadata()) empty->set_metadata(instruction->metadata());
      ReplaceKeepingExtras(instruction, empty, empty->id());
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ZeroSizedHloElimination)

}  // namespace hlo
