#include <algorithm>
#include <map>

#include "lib/ir/any_instruction.h"
#include "tools/reduce/edits.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

// What takes the place of an instruction.
enum class Stand : char {
  kOperand,           // an operand of the same shape; nothing where there is none
  kOperandOrOutside,  // or a parameter, or zeros inside called computations
  kOutside,           // a parameter; zeros inside called computations
};

bool Replace(Instruction* instruction, Stand stand) {
  Computation& computation = *instruction->parent();
  if (!instruction->is_used()) {
    instruction->DropControlEdges();
    computation.Remove(instruction);
    return true;
  }
  Instruction* operand = stand == Stand::kOutside ? nullptr : SameShapeOperand(*instruction);
  if (operand != nullptr) {
    Substitute(instruction, operand);
    return true;
  }
  if (stand == Stand::kOperand) return false;
  if (computation.is_entry()) {
    SubstituteParameter(instruction);
    return true;
  }
  // Zeros may take more instructions than they replace.
  if (instruction->operand_count() == 0 || instruction->opcode() == Opcode::kBroadcast ||
      instruction->shape().IsTuple())
    return false;
  Instruction* zero = MakeZero(computation, instruction->shape());
  if (zero == nullptr) return false;
  Substitute(instruction, zero);
  return true;
}

// Users come before what they use.
std::vector<std::string> Replaceable(const Module& module) {
  std::vector<std::string> names;
  std::vector<Computation*> computations = module.PostOrder();
  for (size_t c = computations.size(); c-- > 0;) {
    const std::vector<Instruction*> order = computations[c]->PostOrder();
    for (size_t i = order.size(); i-- > 0;) {
      if (order[i]->opcode() != Opcode::kParameter) names.emplace_back(order[i]->name());
    }
  }
  return names;
}

bool ReplaceNamed(Module& module, std::span<const std::string> names, Stand stand) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::map<std::string_view, Instruction*> found;
  for (Instruction* instruction : AllInstructions(module)) {
    if (wanted.contains(instruction->name())) found[instruction->name()] = instruction;
  }
  bool changed = false;
  for (const std::string& name : names) {
    const auto it = found.find(name);
    if (it != found.end() && !it->second->is_dead()) changed |= Replace(it->second, stand);
  }
  return changed;
}

}  // namespace

bool ReplaceInstructions(Reducer& reducer) {
  bool improved = false;
  for (const Stand stand : {Stand::kOperandOrOutside, Stand::kOutside, Stand::kOperand}) {
    reducer.set_step(stand == Stand::kOutside   ? "instructions to parameters"
                     : stand == Stand::kOperand ? "instructions to operands"
                                                : "instructions");
    improved |= reducer.TryChunks(Replaceable(reducer.best()),
                                  [&](Module& module, std::span<const std::string> names) {
                                    return ReplaceNamed(module, names, stand);
                                  });
  }
  return improved;
}

namespace {

// A parameter of a tuple whose elements are read one by one becomes parameters of its elements.
bool SplitParameter(Module& module, Instruction* parameter) {
  if (!parameter->shape().IsTuple() || parameter->is_root() || !parameter->has_uses()) return false;
  const std::vector<Instruction*> users = parameter->users();
  for (const Instruction* user : users) {
    if (user->opcode() != Opcode::kGetTupleElement) return false;
  }
  std::map<int64_t, Instruction*> elements;
  Computation& entry = *module.entry();
  for (Instruction* user : users) {
    Instruction*& element = elements[user->tuple_index()];
    if (element == nullptr)
      element = entry.AddParameter(entry.parameter_count(), user->shape(), "parameter");
    Substitute(user, element);
  }
  return true;
}

bool SplitParameters(Module& module) {
  bool changed = false;
  const std::vector<Instruction*> parameters(module.entry()->parameters().begin(),
                                             module.entry()->parameters().end());
  for (Instruction* parameter : parameters) changed |= SplitParameter(module, parameter);
  return changed;
}

}  // namespace

bool TakeTuplesApart(Reducer& reducer) {
  reducer.set_step("tuples");
  const bool elements = reducer.Try(ForwardTupleElements);
  const bool parameters = reducer.Try(SplitParameters);
  return elements || parameters;
}

bool MergeParameters(Reducer& reducer) {
  reducer.set_step("parameters");
  std::vector<std::string> names;
  for (const Instruction* parameter : reducer.best().entry()->parameters())
    names.emplace_back(parameter->name());
  std::reverse(names.begin(), names.end());
  return reducer.TryChunks(names, [](Module& module, std::span<const std::string> going) {
    bool changed = false;
    const auto parameters = module.entry()->parameters();
    for (const std::string& name : going) {
      const auto is_it = [&](const Instruction* p) { return p->name() == name; };
      const auto it = std::find_if(parameters.begin(), parameters.end(), is_it);
      if (it == parameters.end() || !(*it)->is_used()) continue;
      const auto same = std::find_if(parameters.begin(), it, [&](const Instruction* other) {
        return Compatible(other->shape(), (*it)->shape());
      });
      if (same == it) continue;
      Substitute(*it, *same);
      changed = true;
    }
    return changed;
  });
}

}  // namespace hlo
