#include "passes/fusion/fusion_constant_sinking.h"

#include "passes/util/plain_fusion.h"

namespace hlo {
namespace {

bool MaySinkInto(const Instruction& fusion) {
  return IsPlainFusion(fusion) && fusion.fused_computation()->callers().size() == 1;
}

bool IsScalarConstant(const Instruction& value) {
  return value.IsConstant() && value.shape().IsScalar() && !value.literal().is_elided();
}

// Operand `i` of `fusion`, a constant, becomes a constant of the body.
void SinkOperand(Instruction* fusion, int i) {
  Computation& body = *fusion->fused_computation();
  Instruction* const constant = fusion->operand(i);
  Instruction* const parameter = body.parameter(i);
  Instruction* const inner = body.AddClone(*constant, parameter->shape(), {});
  parameter->ReplaceAllUsesWith(inner);
  if (body.root() == parameter) body.set_root(inner);
  body.RemoveParameterAndOperands(i);
  if (!constant->has_uses() && !constant->is_root() && !constant->has_control_edges())
    constant->parent()->RemoveUnused(constant);
}

}  // namespace

absl::StatusOr<bool> FusionConstantSinking::Run(Module& module, PassContext& context) {
  bool changed = false;
  // Callers first: what a fusion gets may go on into one inside of it.
  std::vector<Computation*> computations = context.Computations(module, {Opcode::kFusion});
  absl::c_reverse(computations);
  for (Computation* computation : computations) {
    for (Instruction* fusion : computation->PostOrder()) {
      if (!MaySinkInto(*fusion)) continue;
      for (int i = fusion->operand_count(); i-- > 0;) {
        if (!IsScalarConstant(*fusion->operand(i))) continue;
        if (!context.MayRewrite()) return changed;
        context.Passed(*fusion, "has constant `{}` inside", fusion->operand(i)->name());
        SinkOperand(fusion, i);
        context.Count("sunk");
        changed = true;
      }
    }
  }
  return changed;
}

HLO_DEFINE_PASS(FusionConstantSinking)

}  // namespace hlo
