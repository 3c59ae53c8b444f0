#include "tools/reduce/edits.h"

#include <algorithm>

#include "lib/analysis/side_effects.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/builder.h"
#include "lib/ir/dense_map.h"
#include "passes/util/entry_parameters.h"

namespace hlo {

std::set<std::string_view> InstructionNames(const Module& module) {
  std::set<std::string_view> names;
  for (const Instruction* instruction : AllInstructions(module)) names.insert(instruction->name());
  return names;
}

bool HasOnlyPlainLayouts(const Module& module) {
  const auto is_plain = [](Shape shape) { return shape == shape.WithDefaultLayout(); };
  for (const Instruction* instruction : AllInstructions(module)) {
    if (!is_plain(instruction->shape()) || instruction->opcode() == Opcode::kCustomCall)
      return false;
  }
  const EntryLayout& layout = module.config().entry_layout;
  return is_plain(layout.result) &&
         std::all_of(layout.parameters.begin(), layout.parameters.end(), is_plain);
}

void RemoveDead(Module& module) {
  SideEffects effects;
  for (Computation* computation : module.computations()) {
    std::vector<Instruction*> worklist = computation->PostOrder();
    while (!worklist.empty()) {
      Instruction* instruction = worklist.back();
      worklist.pop_back();
      if (instruction->is_dead() || instruction->is_used() || instruction->has_control_edges() ||
          instruction->opcode() == Opcode::kParameter || effects.Of(*instruction)) {
        continue;
      }
      const std::vector<Instruction*> operands = instruction->operand_vector();
      computation->Remove(instruction);
      worklist.insert(worklist.end(), operands.begin(), operands.end());
    }
  }
}

void RemoveUnusedParameters(Module& module) {
  Computation& entry = *module.entry();
  for (int i = entry.parameter_count(); i-- > 0;) {
    const Instruction* parameter = entry.parameter(i);
    if (parameter->is_used() || parameter->has_control_edges()) continue;
    entry.RemoveParameter(i);
    ForgetEntryParameter(module.config(), i);
  }
}

void FitEntryLayout(Module& module) {
  const EntryLayout& layout = module.config().entry_layout;
  const Computation& entry = *module.entry();
  bool fits = static_cast<int>(layout.parameters.size()) == entry.parameter_count() &&
              Compatible(layout.result, entry.root()->shape());
  for (int i = 0; fits && i < entry.parameter_count(); ++i)
    fits = Compatible(layout.parameters[static_cast<size_t>(i)], entry.parameter(i)->shape());
  if (!fits) module.ResetEntryLayout();
}

Instruction* SameShapeOperand(const Instruction& instruction) {
  for (Instruction* operand : instruction.operands()) {
    if (Compatible(operand->shape(), instruction.shape())) return operand;
  }
  if (instruction.parent()->is_entry() || instruction.operand_count() == 0) return nullptr;
  for (Instruction* parameter : instruction.parent()->parameters()) {
    if (Compatible(parameter->shape(), instruction.shape())) return parameter;
  }
  return nullptr;
}

Instruction* MakeZero(Computation& computation, Shape shape) {
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements;
    for (const Shape& element : shape.elements()) {
      elements.push_back(MakeZero(computation, element));
      if (elements.back() == nullptr) return nullptr;
    }
    return computation.Add(Opcode::kTuple, shape, elements);
  }
  if (!shape.IsArray() || shape.has_dynamic_dims()) return nullptr;
  Instruction* zero = computation.AddConstant(Literal::Zero(shape.element_type()));
  if (shape.rank() == 0) return zero;
  return computation.Add(Opcode::kBroadcast, shape, {zero}, AttrsPtr::Make(BroadcastAttrs{}));
}

void Substitute(Instruction* instruction, Instruction* value) {
  Computation& computation = *instruction->parent();
  instruction->DropControlEdges();
  instruction->ReplaceAllUsesWith(value);
  if (computation.root() == instruction) computation.set_root(value);
  if (instruction->opcode() != Opcode::kParameter) computation.Remove(instruction);
}

Instruction* SubstituteParameter(Instruction* instruction) {
  Computation& entry = *instruction->parent();
  Instruction* parameter =
      entry.AddParameter(entry.parameter_count(), instruction->shape(), "parameter");
  Substitute(instruction, parameter);
  return parameter;
}

bool SubstituteBody(Instruction* instruction, Computation* callee,
                    const std::vector<Instruction*>& operands) {
  Computation& computation = *instruction->parent();
  if (callee->parameter_count() != static_cast<int>(operands.size()) ||
      !Compatible(callee->root()->shape(), instruction->shape()))
    return false;
  InstructionMap<Instruction*> copies(instruction->module().id_limit(), nullptr);
  for (Instruction* original : callee->PostOrder()) {
    if (original->opcode() == Opcode::kParameter) {
      Instruction* operand = operands[static_cast<size_t>(original->parameter_number())];
      if (!Compatible(operand->shape(), original->shape())) return false;
      copies[original] = operand;
      continue;
    }
    std::vector<Instruction*> copied;
    for (Instruction* operand : original->operands()) copied.push_back(copies[operand]);
    copies[original] = computation.AddClone(*original, original->shape(), copied);
    for (Instruction* predecessor : original->control_predecessors()) {
      if (copies[predecessor]->opcode() != Opcode::kParameter)
        copies[original]->AddControlPredecessor(copies[predecessor]);
    }
  }
  Substitute(instruction, copies[callee->root()]);
  return true;
}

bool ForwardTupleElements(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() != Opcode::kGetTupleElement ||
          instruction->operand(0)->opcode() != Opcode::kTuple)
        continue;
      Substitute(instruction,
                 instruction->operand(0)->operand(static_cast<int>(instruction->tuple_index())));
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
