#include "backends/cpu/kernel_planner.h"

#include <utility>
#include <vector>

#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::cpu {
namespace {

// Puts the instructions of a fusion where it stands.
void Dissolve(Instruction* fusion) {
  Computation& parent = *fusion->parent();
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  for (Instruction* inner : fusion->fused_computation()->PostOrder()) {
    if (inner->opcode() == Opcode::kParameter) {
      copies[inner] = fusion->operand(static_cast<int>(inner->parameter_number()));
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inner->operands()) operands.push_back(copies.at(operand));
    copies[inner] = parent.AddClone(*inner, inner->shape(), operands);
  }
  parent.Replace(fusion, copies.at(fusion->fused_computation()->root()));
}

}  // namespace

absl::StatusOr<KernelPlans> PlanFusions(Module& module, const FamilyOptions& options) {
  KernelPlans plans;
  // A dissolved fusion may hold fusions: they are looked at in the next round.
  for (bool again = true; again;) {
    std::vector<Instruction*> unfit;
    for (Computation* computation : module.NonFusionComputations()) {
      for (Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() != Opcode::kFusion || plans.contains(instruction)) continue;
        if (IsKernel(*instruction)) {
          absl::StatusOr<KernelPlan> plan = EmitFusion(*instruction, options);
          if (plan.ok()) {
            plans.emplace(instruction, *std::move(plan));
            continue;
          }
          if (plan.status().code() != absl::StatusCode::kUnimplemented) return plan.status();
        }
        unfit.push_back(instruction);
      }
    }
    for (Instruction* fusion : unfit) Dissolve(fusion);
    again = !unfit.empty();
    if (again) {
      module.ClearSchedule();
      module.RemoveUnusedComputations();
      module.Sweep();
    }
  }
  return plans;
}

}  // namespace hlo::cpu
