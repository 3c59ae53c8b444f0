#include "lib/ir/outline.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

class Outliner {
 public:
  // `instructions` stand in their order, operands first.
  Outliner(absl::Span<Instruction* const> instructions, const OutlineOptions& options)
      : parent_(*instructions[0]->parent()),
        options_(options),
        members_(instructions.begin(), instructions.end()),
        order_(instructions.begin(), instructions.end()) {}

  absl::Status Check() const {
    for (const Instruction* member : order_) {
      if (member->parent() != &parent_ || member->opcode() == Opcode::kParameter) {
        return Error(member->loc(), "`{}` cannot be outlined from computation `{}`: it {}",
                     member->name(), parent_.name(),
                     member->parent() == &parent_ ? "is a parameter" : "is not in it");
      }
    }
    return CheckNothingBetween();
  }

  Instruction* Run() {
    Module& module = parent_.module();
    Computation* outlined = module.AddComputation(options_.computation);
    outlined->set_execution_thread(parent_.execution_thread());
    outlined->set_loc(order_.back()->loc());
    Copy(*outlined);
    return Replace(*outlined);
  }

 private:
  bool IsMember(const Instruction* instruction) const {
    return members_.contains(const_cast<Instruction*>(instruction));
  }

  // From what comes right after the members, no way may lead back to one.
  absl::Status CheckNothingBetween() const {
    std::vector<const Instruction*> stack;
    absl::flat_hash_set<const Instruction*> seen;
    const auto visit_after = [&](const Instruction* instruction) {
      for (const Use& use : instruction->uses()) stack.push_back(use.user);
      for (const Instruction* successor : instruction->control_successors())
        stack.push_back(successor);
    };
    for (const Instruction* member : order_) {
      for (const Use& use : member->uses()) {
        if (!IsMember(use.user)) stack.push_back(use.user);
      }
      for (const Instruction* successor : member->control_successors()) {
        if (!IsMember(successor)) stack.push_back(successor);
      }
    }
    while (!stack.empty()) {
      const Instruction* top = stack.back();
      stack.pop_back();
      if (!seen.insert(top).second) continue;
      if (IsMember(top)) {
        return Error(top->loc(),
                     "`{}` cannot be outlined: it needs something outside that needs another of "
                     "the outlined instructions",
                     top->name());
      }
      visit_after(top);
    }
    return absl::OkStatus();
  }

  void Copy(Computation& outlined) {
    for (Instruction* member : order_) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : member->operands())
        operands.push_back(Inside(outlined, operand, *member));
      Instruction* copy = outlined.AddClone(*member, member->shape(), operands);
      inside_[member] = copy;
      for (Instruction* before : member->control_predecessors()) {
        if (IsMember(before)) copy->AddControlPredecessor(inside_.at(before));
      }
    }
    FindResults();
    if (results_.size() == 1) {
      outlined.set_root(inside_.at(results_[0]));
      return;
    }
    std::vector<Shape> shapes;
    std::vector<Instruction*> elements;
    for (Instruction* result : results_) {
      shapes.push_back(result->shape());
      elements.push_back(inside_.at(result));
    }
    outlined.set_root(outlined.Add(Opcode::kTuple, Shape::Tuple(shapes), elements));
  }

  // What is used outside, but for originals of copies that nothing else uses: they go, too.
  void FindResults() {
    absl::flat_hash_set<const Instruction*> gone(members_.begin(), members_.end());
    const auto is_used = [&gone](const Instruction* value) {
      return value->is_root() ||
             std::any_of(value->uses().begin(), value->uses().end(),
                         [&gone](const Use& use) { return !gone.contains(use.user); });
    };
    for (size_t i = copied_.size(); i-- > 0;) {  // users before what they read
      if (!is_used(copied_[i])) gone.insert(copied_[i]);
    }
    for (Instruction* member : order_) {
      if (is_used(member)) results_.push_back(member);
    }
  }

  // What stands for `value` in the outlined computation, for one that reads it.
  Instruction* Inside(Computation& outlined, Instruction* value, const Instruction& reader) {
    if (const auto it = inside_.find(value); it != inside_.end()) return it->second;
    Instruction* inside = nullptr;
    if (options_.is_copied && options_.is_copied(*value, reader)) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : value->operands())
        operands.push_back(Inside(outlined, operand, *value));
      inside = outlined.AddClone(*value, value->shape(), operands);
      copied_.push_back(value);
    } else {
      const auto number = std::ssize(arguments_);
      inside = outlined.AddParameter(number, value->shape(),
                                     fmt::format("{}{}", options_.parameter, number));
      arguments_.push_back(value);
    }
    inside_[value] = inside;
    return inside;
  }

  Instruction* Replace(Computation& outlined) {
    Instruction* call = parent_.Add(options_.opcode, outlined.root()->shape(), arguments_,
                                    options_.attrs, {&outlined}, options_.name);
    if (results_.size() == 1) {
      call->CopyExtrasFrom(*results_[0]);
    } else {
      call->set_loc(order_.back()->loc());
      call->set_metadata(order_.back()->metadata());
    }
    for (Instruction* member : order_) {
      for (Instruction* predecessor : member->control_predecessors()) {
        if (!IsMember(predecessor)) call->AddControlPredecessor(predecessor);
      }
      for (Instruction* successor : member->control_successors()) {
        if (!IsMember(successor)) successor->AddControlPredecessor(call);
      }
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      Instruction* member = results_[i];
      Instruction* value = call;
      if (results_.size() > 1) {
        const auto index = static_cast<int64_t>(i);
        value = parent_.Add(Opcode::kGetTupleElement, member->shape(), {call},
                            AttrsPtr::Make(GetTupleElementAttrs{index}));
        value->CopyExtrasFrom(*member);
      }
      const bool is_root = member->is_root();
      member->ReplaceAllUsesWith(value);
      if (is_root) parent_.set_root(value);
    }
    for (size_t i = order_.size(); i-- > 0;) parent_.RemoveUnused(order_[i]);
    for (Instruction* original : copied_) parent_.RemoveUnused(original);
    return call;
  }

  Computation& parent_;
  const OutlineOptions& options_;
  absl::flat_hash_set<Instruction*> members_;
  std::vector<Instruction*> order_;  // operands first
  std::vector<Instruction*> arguments_;
  std::vector<Instruction*> copied_;
  std::vector<Instruction*> results_;
  absl::flat_hash_map<const Instruction*, Instruction*> inside_;
};

}  // namespace

absl::StatusOr<Instruction*> Outline(absl::Span<Instruction* const> instructions,
                                     std::string_view name) {
  if (instructions.empty()) return Error("nothing to outline into computation `{}`", name);
  const absl::flat_hash_set<const Instruction*> members(instructions.begin(), instructions.end());
  // What is in another computation comes last, for Check.
  std::vector<Instruction*> order;
  for (Instruction* instruction : instructions[0]->parent()->PostOrder()) {
    if (members.contains(instruction)) order.push_back(instruction);
  }
  for (Instruction* instruction : instructions) {
    if (instruction->parent() != instructions[0]->parent()) order.push_back(instruction);
  }
  const OutlineOptions options{.computation = name};
  Outliner outliner(order, options);
  RETURN_IF_ERROR(outliner.Check());
  Instruction* const call = outliner.Run();
  call->module().MoveToFront(call->call(0), call->parent());
  return call;
}

Instruction* OutlineInOrder(absl::Span<Instruction* const> instructions,
                            const OutlineOptions& options) {
  return Outliner(instructions, options).Run();
}

}  // namespace hlo
