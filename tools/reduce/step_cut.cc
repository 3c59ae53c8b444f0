#include <algorithm>

#include "tools/reduce/edits.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

// The entry's instructions in the order they may run in, parameters first.
std::vector<Instruction*> EntryOrder(const Module& module) {
  std::vector<Instruction*> order = module.entry()->PostOrder();
  std::stable_partition(order.begin(), order.end(), [](const Instruction* instruction) {
    return instruction->opcode() == Opcode::kParameter;
  });
  return order;
}

bool IsValue(Shape shape) { return shape.IsArray() || shape.IsTuple(); }

// Removes the entry's instructions that are not in `kept`, which holds all that its members read;
// those that only others read become the result.
bool KeepOnly(Module& module, const std::set<std::string_view>& kept) {
  Computation& entry = *module.entry();
  const std::vector<Instruction*> order = EntryOrder(module);
  const auto stays = [&](const Instruction* i) { return kept.contains(i->name()); };
  std::vector<Instruction*> outputs;
  std::vector<Shape> shapes;
  for (Instruction* instruction : order) {
    if (!stays(instruction) || instruction->opcode() == Opcode::kParameter ||
        !IsValue(instruction->shape()))
      continue;
    const std::vector<Instruction*> users = instruction->users();
    if (std::any_of(users.begin(), users.end(), stays)) continue;
    outputs.push_back(instruction);
    shapes.push_back(instruction->shape());
  }
  if (outputs.empty() || std::all_of(order.begin(), order.end(), stays)) return false;
  entry.set_root(outputs.size() == 1 ? outputs[0]
                                     : entry.Add(Opcode::kTuple, Shape::Tuple(shapes), outputs));
  for (size_t i = order.size(); i-- > 0;) {
    if (stays(order[i])) continue;
    order[i]->DropControlEdges();
    if (!order[i]->is_used()) entry.Remove(order[i]);
  }
  module.config().aliases.clear();  // they name outputs
  return true;
}

// Makes parameters of the values that others read from the instructions in `going`, which holds all
// that its members read but parameters.
bool ReplaceAll(Module& module, const std::set<std::string_view>& going) {
  const std::vector<Instruction*> order = EntryOrder(module);
  bool changed = false;
  for (size_t i = order.size(); i-- > 0;) {
    if (!going.contains(order[i]->name())) continue;
    if (order[i]->is_root()) return false;
    if (order[i]->has_uses()) {
      SubstituteParameter(order[i]);
    } else {
      order[i]->DropControlEdges();
      order[i]->parent()->Remove(order[i]);
    }
    changed = true;
  }
  return changed;
}

}  // namespace

bool CutEnd(Reducer& reducer) {
  reducer.set_step("end of the program");
  std::vector<std::string> names;
  for (const Instruction* i : EntryOrder(reducer.best())) names.emplace_back(i->name());
  return reducer.TryLargest(std::ssize(names) - 1, [&](Module& module, int64_t removed) {
    return KeepOnly(module, {names.begin(), names.end() - removed});
  });
}

bool CutStart(Reducer& reducer) {
  reducer.set_step("start of the program");
  std::vector<std::string> names;
  for (const Instruction* i : EntryOrder(reducer.best())) {
    if (i->opcode() != Opcode::kParameter) names.emplace_back(i->name());
  }
  return reducer.TryLargest(std::ssize(names) - 1, [&](Module& module, int64_t removed) {
    return ReplaceAll(module, {names.begin(), names.begin() + removed});
  });
}

bool DropOutputs(Reducer& reducer) {
  reducer.set_step("outputs");
  bool improved = false;
  // An output of its own first, then fewer of them.
  const Instruction* root = reducer.best().entry()->root();
  if (root->opcode() == Opcode::kTuple && root->operand_count() > 0) {
    std::vector<std::string> values;
    for (const Instruction* operand : root->operands()) {
      if (std::find(values.begin(), values.end(), operand->name()) == values.end())
        values.emplace_back(operand->name());
    }
    improved |= reducer.TryChunks(values, [](Module& module, std::span<const std::string> going) {
      Computation& entry = *module.entry();
      Instruction* tuple = entry.root();
      if (tuple->opcode() != Opcode::kTuple) return false;
      std::vector<Instruction*> kept;
      std::vector<Shape> shapes;
      for (Instruction* operand : tuple->operands()) {
        if (std::find(going.begin(), going.end(), operand->name()) != going.end()) continue;
        kept.push_back(operand);
        shapes.push_back(operand->shape());
      }
      if (kept.empty() || std::ssize(kept) == tuple->operand_count()) return false;
      entry.set_root(kept.size() == 1 ? kept[0]
                                      : entry.Add(Opcode::kTuple, Shape::Tuple(shapes), kept));
      if (!tuple->has_uses()) {
        tuple->DropControlEdges();
        entry.Remove(tuple);
      }
      module.config().aliases.clear();  // they name outputs
      return true;
    });
  }
  // An operand of the root as the root, as long as that goes.
  for (bool again = true; again && !reducer.is_done();) {
    again = false;
    const int operands = reducer.best().entry()->root()->operand_count();
    for (int i = 0; i < operands && !again; ++i) {
      again = reducer.Try([&](Module& module) {
        Computation& entry = *module.entry();
        Instruction* old = entry.root();
        if (old->operand(i)->opcode() == Opcode::kParameter) return false;
        entry.set_root(old->operand(i));
        old->DropControlEdges();
        if (!old->has_uses()) entry.Remove(old);
        module.config().aliases.clear();
        return true;
      });
    }
    improved |= again;
  }
  return improved;
}

bool TakeOneElement(Reducer& reducer) {
  reducer.set_step("one output");
  const Shape shape = reducer.best().entry()->root()->shape();
  for (int i = 0; shape.IsTuple() && i < shape.element_count_of_tuple(); ++i) {
    const bool good = reducer.Try([&](Module& module) {
      Computation& entry = *module.entry();
      Instruction* tuple = entry.root();
      if (tuple->opcode() == Opcode::kTuple) return false;
      entry.set_root(entry.Add(Opcode::kGetTupleElement, shape.element(i), {tuple},
                               AttrsPtr::Make(GetTupleElementAttrs{i})));
      module.config().aliases.clear();
      return true;
    });
    if (good) return true;
  }
  return false;
}

}  // namespace hlo
