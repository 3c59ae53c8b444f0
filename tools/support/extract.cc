#include "tools/support/extract.h"

#include <algorithm>
#include <vector>

#include "lib/analysis/schedule.h"
#include "lib/ir/dense_map.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "tools/support/find_part.h"

namespace hlo {
namespace {

// Marks what `root` is computed from, so many steps back; all of it with a negative number.
InstructionMap<bool> ProducersOf(Instruction* root, int64_t steps) {
  InstructionMap<bool> kept(root->module().id_limit(), false);
  std::vector<Instruction*> level = {root};
  kept[root] = true;
  for (int64_t step = 0; !level.empty(); ++step) {
    std::vector<Instruction*> next;
    while (!level.empty()) {
      Instruction* const top = level.back();
      level.pop_back();
      // A start belongs to its done, a constant to whoever reads it.
      const bool is_half =
          HasTrait(top->opcode(), kAsyncDone) || top->opcode() == Opcode::kAsyncUpdate;
      for (int i = 0; i < top->operand_count(); ++i) {
        Instruction* const operand = top->operand(i);
        const bool belongs = (is_half && i == 0) || operand->IsConstant();
        if (kept[operand] || (!belongs && steps >= 0 && step >= steps)) continue;
        kept[operand] = true;
        (belongs ? level : next).push_back(operand);
      }
    }
    level = std::move(next);
  }
  return kept;
}

// A parameter of the name and shape of `instruction`, in its place.
void ReplaceByParameter(Instruction* instruction) {
  Computation& computation = *instruction->parent();
  const ParameterAttrs attrs{computation.parameter_count(), std::nullopt};
  Instruction* const parameter = computation.AddVerbatim(
      Opcode::kParameter, instruction->shape(), {}, AttrsPtr::Make(attrs), {}, instruction->name());
  instruction->DropControlEdges();
  computation.Replace(instruction, parameter);
}

void CutDownTo(Instruction* root, int64_t producers) {
  Computation& computation = *root->parent();
  const InstructionMap<bool> kept = ProducersOf(root, producers);
  const std::vector<Instruction*> order = computation.PostOrder();
  computation.set_root(root);
  const auto is_kept = [&kept](const Use& use) { return kept.Get(use.user); };
  for (Instruction* instruction : order) {
    if (instruction->opcode() == Opcode::kParameter || kept.Get(instruction)) continue;
    if (std::any_of(instruction->uses().begin(), instruction->uses().end(), is_kept))
      ReplaceByParameter(instruction);
  }
  for (size_t i = order.size(); i-- > 0;) {
    if (order[i]->is_dead() || order[i]->opcode() == Opcode::kParameter || kept.Get(order[i]))
      continue;
    order[i]->DropControlEdges();
    computation.Remove(order[i]);
  }
  for (int i = computation.parameter_count(); i-- > 0;) {
    Instruction* const parameter = computation.parameter(i);
    if (parameter->is_used()) continue;
    parameter->DropControlEdges();
    computation.RemoveParameter(i);
  }
}

}  // namespace

absl::Status Extract(Module& module, std::string_view name, int64_t producers) {
  ASSIGN_OR_RETURN(const ModulePart part, FindPart(module, name));
  const std::string_view own_name =
      part.instruction == nullptr ? part.computation->name() : part.instruction->name();
  module.ReplaceEntry(part.computation);
  module.RemoveUnusedComputations();
  part.computation->set_execution_thread("main");
  if (part.instruction != nullptr) {
    CutDownTo(part.instruction, producers);
    module.RemoveUnusedComputations();
  }
  module.set_name(std::string(own_name));
  module.config().allow_spmd_sharding_propagation_to_parameters = {false};
  module.config().allow_spmd_sharding_propagation_to_output = {false};
  module.config().recovery_table.clear();
  module.ResetEntryLayout();
  UpdateSchedules(module);
  module.Sweep();
  module.UniquifyNames();
  return AddPrefix(Verify(module), fmt::format("`{}` by itself is no module", own_name));
}

}  // namespace hlo
