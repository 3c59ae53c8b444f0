#include "lib/ir/outline.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

class Outliner {
 public:
  Outliner(absl::Span<Instruction* const> instructions, std::string_view name)
      : parent_(*instructions[0]->parent()), members_(instructions.begin(), instructions.end()) {
    for (Instruction* instruction : parent_.PostOrder()) {
      if (members_.contains(instruction)) order_.push_back(instruction);
    }
    name_ = name;
  }

  absl::StatusOr<Instruction*> Run() {
    for (const Instruction* member : members_) {
      if (member->parent() != &parent_ || member->opcode() == Opcode::kParameter) {
        return Error(member->loc(), "`{}` cannot be outlined from computation `{}`: it {}",
                     member->name(), parent_.name(),
                     member->parent() == &parent_ ? "is a parameter" : "is not in it");
      }
    }
    RETURN_IF_ERROR(CheckNothingBetween());
    Module& module = parent_.module();
    Computation* outlined = module.AddComputation(name_);
    module.MoveToFront(outlined, &parent_);
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
      for (Instruction* operand : member->operands()) operands.push_back(Inside(outlined, operand));
      Instruction* copy = outlined.AddClone(*member, member->shape(), operands);
      inside_[member] = copy;
      for (Instruction* before : member->control_predecessors()) {
        if (IsMember(before)) copy->AddControlPredecessor(inside_.at(before));
      }
      const bool used_outside =
          member->is_root() || std::any_of(member->uses().begin(), member->uses().end(),
                                           [&](const Use& use) { return !IsMember(use.user); });
      if (used_outside) results_.push_back(member);
    }
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

  // What stands for `operand` in the outlined computation.
  Instruction* Inside(Computation& outlined, Instruction* operand) {
    Instruction*& inside = inside_[operand];
    if (inside == nullptr) {
      const int number = static_cast<int>(arguments_.size());
      inside = outlined.AddParameter(number, operand->shape(), fmt::format("p.{}", number));
      arguments_.push_back(operand);
    }
    return inside;
  }

  Instruction* Replace(Computation& outlined) {
    Instruction* call =
        parent_.Add(Opcode::kCall, outlined.root()->shape(), arguments_, {}, {&outlined}, "call");
    call->set_loc(order_.back()->loc());
    call->set_metadata(order_.back()->metadata());
    for (Instruction* member : order_) {
      const std::vector<Instruction*> before(member->control_predecessors().begin(),
                                             member->control_predecessors().end());
      const std::vector<Instruction*> after(member->control_successors().begin(),
                                            member->control_successors().end());
      for (Instruction* predecessor : before) {
        if (!IsMember(predecessor)) call->AddControlPredecessor(predecessor);
      }
      for (Instruction* successor : after) {
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
        value->set_loc(member->loc());
      }
      const bool is_root = member->is_root();
      member->ReplaceAllUsesWith(value);
      if (is_root) parent_.set_root(value);
    }
    for (size_t i = order_.size(); i-- > 0;) parent_.Remove(order_[i]);
    return call;
  }

  Computation& parent_;
  absl::flat_hash_set<Instruction*> members_;
  std::vector<Instruction*> order_;  // operands first
  std::string_view name_;
  std::vector<Instruction*> arguments_;
  std::vector<Instruction*> results_;
  absl::flat_hash_map<const Instruction*, Instruction*> inside_;
};

}  // namespace

absl::StatusOr<Instruction*> Outline(absl::Span<Instruction* const> instructions,
                                     std::string_view name) {
  if (instructions.empty()) return Error("nothing to outline into computation `{}`", name);
  return Outliner(instructions, name).Run();
}

}  // namespace hlo
