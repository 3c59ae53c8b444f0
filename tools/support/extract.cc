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

// Whether the first operand is the half of an asynchronous operation that began before.
bool EndsPair(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kAsyncDone) || instruction.opcode() == Opcode::kAsyncUpdate;
}

// Marks what `root` is computed from, so many steps back; all of it with a negative number.
void KeepProducers(Instruction* root, int64_t steps, InstructionMap<bool>& kept) {
  std::vector<Instruction*> level = {root};
  kept[root] = true;
  for (int64_t step = 0; !level.empty(); ++step) {
    std::vector<Instruction*> next;
    while (!level.empty()) {
      Instruction* const top = level.back();
      level.pop_back();
      // A start belongs to its done, a constant to whoever reads it.
      const bool is_half = EndsPair(*top);
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
}

// Marks who uses `first`, so many steps on, with the constants they read.
void KeepUsers(Instruction* first, int64_t steps, InstructionMap<bool>& kept) {
  std::vector<Instruction*> level = {first};
  for (int64_t step = 0; !level.empty(); ++step) {
    std::vector<Instruction*> next;
    while (!level.empty()) {
      Instruction* const top = level.back();
      level.pop_back();
      for (const Use& use : top->uses()) {
        const bool belongs = EndsPair(*use.user) && use.operand_index == 0;
        if (kept[use.user] || (!belongs && step >= steps)) continue;
        KeepProducers(use.user, 0, kept);
        (belongs ? level : next).push_back(use.user);
      }
    }
    level = std::move(next);
  }
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

// The result of what is kept: what nobody of it uses.
Instruction* ResultOf(const std::vector<Instruction*>& order, const InstructionMap<bool>& kept,
                      Computation& computation) {
  std::vector<Instruction*> results;
  for (Instruction* instruction : order) {
    const auto is_kept = [&kept](const Use& use) { return kept.Get(use.user); };
    if (kept.Get(instruction) &&
        std::none_of(instruction->uses().begin(), instruction->uses().end(), is_kept))
      results.push_back(instruction);
  }
  if (results.size() == 1) return results[0];
  std::vector<Shape> shapes;
  for (const Instruction* result : results) shapes.push_back(result->shape());
  return computation.AddVerbatim(Opcode::kTuple, Shape::Tuple(shapes), results, {}, {}, "results");
}

void CutDownTo(Instruction* part, int64_t producers, int64_t users) {
  Computation& computation = *part->parent();
  InstructionMap<bool> kept(part->module().id_limit(), false);
  KeepProducers(part, producers, kept);
  if (users > 0) KeepUsers(part, users, kept);
  const std::vector<Instruction*> order = computation.PostOrder();
  Instruction* const root = users > 0 ? ResultOf(order, kept, computation) : part;
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

absl::Status Extract(Module& module, std::string_view name, int64_t producers, int64_t users) {
  ASSIGN_OR_RETURN(const ModulePart part, FindPart(module, name));
  const std::string_view own_name =
      part.instruction == nullptr ? part.computation->name() : part.instruction->name();
  module.ReplaceEntry(part.computation);
  module.RemoveUnusedComputations();
  part.computation->set_execution_thread("main");
  if (part.instruction != nullptr) {
    CutDownTo(part.instruction, producers, users);
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
