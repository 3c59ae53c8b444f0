#include "passes/control_flow/call_outliner.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/eval/custom_calls.h"
#include "lib/ir/builder.h"
#include "lib/ir/custom_call.h"
#include "lib/ir/name_uniquer.h"
#include "lib/support/decision.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/own_body.h"

namespace hlo {
namespace {

constexpr std::string_view kMarkedComputation = "xla_call_marked_computation";
constexpr std::string_view kMarkedInstruction = "xla_call_marked_instruction_name";

using MemberSet = absl::flat_hash_set<const Instruction*>;

// What reads `begin`, directly or not; or what `end` needs.
MemberSet ReachedFrom(const Instruction* from, bool downwards) {
  MemberSet reached;
  std::vector<const Instruction*> stack = {from};
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    stack.pop_back();
    for (const Instruction* next : downwards ? top->users() : top->operand_vector()) {
      if (reached.insert(next).second) stack.push_back(next);
    }
  }
  return reached;
}

// What two markers enclose.
class Block {
 public:
  Block(Instruction* begin, Instruction* end) : begin_(begin), end_(end) {
    const MemberSet below = ReachedFrom(begin, /*downwards=*/true);
    const MemberSet above = ReachedFrom(end, /*downwards=*/false);
    MemberSet made_of_constants;
    for (Instruction* instruction : end->parent()->PostOrder()) {
      if (instruction == begin || instruction == end || !above.contains(instruction)) continue;
      if (IsMadeOfConstants(*instruction, made_of_constants)) {
        made_of_constants.insert(instruction);
        members_.push_back(instruction);
      } else if (below.contains(instruction)) {
        members_.push_back(instruction);
      }
    }
    set_.insert(members_.begin(), members_.end());
  }

  Decision CanBeCalled() const {
    if (!begin_->control_successors().empty() || !end_->control_predecessors().empty())
      return No("a marker has control edges into the call");
    MemberSet with_effects;
    for (const Instruction* member : members_) {
      if (member->has_control_edges()) return No("`{}` has control edges", member->name());
      const auto operands = member->operands();
      if (member->HasSideEffect() || absl::c_any_of(operands, [&](const Instruction* operand) {
            return with_effects.contains(operand);
          }))
        with_effects.insert(member);
      if (with_effects.contains(member) && IsReadOutside(*member))
        return No("`{}`, which needs a side effect, is read outside", member->name());
    }
    return Decision::Yes();
  }

  const std::vector<Instruction*>& members() const { return members_; }

  absl::Status Outline() {
    Computation& computation = *end_->parent();
    Module& module = computation.module();
    const std::string_view name = FrontendAttribute(*end_, kMarkedComputation);
    callee_ = module.AddComputation(name.empty() ? "outlined_computation" : SanitizeName(name));
    callee_->set_execution_thread(computation.execution_thread());
    Builder b(callee_);
    for (Instruction* operand : begin_->operands()) AddParameter(operand, "p");
    const size_t given = operands_.size();
    for (Instruction* member : members_) {
      if (member->opcode() == Opcode::kGetTupleElement && member->operand(0) == begin_) {
        inside_[member] = callee_->parameter(static_cast<int>(member->tuple_index()));
        continue;
      }
      std::vector<Instruction*> operands;
      for (Instruction* operand : member->operands()) operands.push_back(Inside(operand, given, b));
      Instruction* const copy = callee_->AddClone(*member, member->shape(), operands);
      copy->set_loc(member->loc());
      // A fusion that stays outside, too, keeps its body to itself.
      if (copy->IsFusion() && IsReadOutside(*member)) TakeOwnBody(copy);
      inside_[member] = copy;
    }
    std::vector<Instruction*> results;
    for (Instruction* operand : end_->operands()) results.push_back(Inside(operand, given, b));
    const bool is_whole = results.size() == 1 && end_->operand(0)->shape() == end_->shape();
    callee_->set_root(is_whole ? results.front() : b.Tuple(results));
    RETURN_IF_ERROR(b.status());
    return ReplaceByCall();
  }

 private:
  static bool IsMadeOfConstants(const Instruction& instruction, const MemberSet& others) {
    const auto operands = instruction.operands();
    if (instruction.has_control_edges() || instruction.HasSideEffect() ||
        instruction.opcode() == Opcode::kCustomCall || instruction.call_count() > 0)
      return false;
    if (instruction.operand_count() == 0)
      return instruction.IsConstant() || instruction.opcode() == Opcode::kIota;
    return absl::c_all_of(operands,
                          [&](const Instruction* operand) { return others.contains(operand); });
  }

  bool IsReadOutside(const Instruction& member) const {
    return member.is_root() || absl::c_any_of(member.uses(), [&](const Use& use) {
             return use.user != end_ && !set_.contains(use.user);
           });
  }

  Instruction* AddParameter(Instruction* outside, std::string_view prefix) {
    const auto number = static_cast<int64_t>(operands_.size());
    operands_.push_back(outside);
    return callee_->AddParameter(number, outside->shape(), fmt::format("{}{}", prefix, number));
  }

  // What `outside` is in the computation; `given` parameters are operands of the first marker.
  Instruction* Inside(Instruction* outside, size_t given, Builder& b) {
    Instruction*& inside = inside_[outside];
    if (inside == nullptr && outside == begin_) {
      const auto parameters = callee_->parameters();
      inside = begin_->shape().IsTuple() ? b.Tuple(parameters.subspan(0, given)) : parameters[0];
    } else if (inside == nullptr) {
      inside = AddParameter(outside, "extra_");
    }
    return inside;
  }

  absl::Status ReplaceByCall() {
    Computation& computation = *end_->parent();
    Builder b(&computation);
    Instruction* const call = b.Call(operands_, callee_);
    RETURN_IF_ERROR(b.status());
    call->set_shape(end_->shape());
    call->CopyExtrasFrom(*end_);
    FrontendAttributes attributes;
    if (end_->extras() != nullptr) {
      for (const auto& [key, value] : end_->extras()->frontend_attributes) {
        if (key != kMarkedComputation && key != kMarkedInstruction)
          attributes.insert_or_assign(key, value);
      }
      call->mutable_extras().frontend_attributes = std::move(attributes);
      call->mutable_extras().backend_config = std::string(end_->backend_config());
    }
    const std::string name(FrontendAttribute(*end_, kMarkedInstruction));
    computation.Replace(end_, call);
    if (!name.empty()) computation.module().Rename(call, SanitizeName(name));
    for (Instruction* predecessor : begin_->control_predecessors())
      call->AddControlPredecessor(predecessor);
    for (size_t i = members_.size(); i-- > 0;) {
      if (!members_[i]->is_used()) computation.Remove(members_[i]);
    }
    return RemoveBegin(b);
  }

  // What still reads the first marker reads its operands.
  absl::Status RemoveBegin(Builder& b) {
    Computation& computation = *begin_->parent();
    for (Instruction* user : begin_->users()) {
      if (user->opcode() == Opcode::kGetTupleElement)
        computation.Replace(user, begin_->operand(static_cast<int>(user->tuple_index())));
    }
    if (begin_->is_used()) {
      computation.Replace(begin_, begin_->shape().IsTuple() ? b.Tuple(begin_->operand_vector())
                                                            : begin_->operand(0));
    } else {
      begin_->DropControlEdges();
      computation.Remove(begin_);
    }
    return b.status();
  }

  Instruction* begin_;
  Instruction* end_;
  std::vector<Instruction*> members_;  // in post-order
  MemberSet set_;
  Computation* callee_ = nullptr;
  std::vector<Instruction*> operands_;  // of the call
  absl::flat_hash_map<const Instruction*, Instruction*> inside_;
};

// As many results as operands, or of the form of the one operand.
absl::Status CheckMarker(const Instruction& marker, bool begins) {
  const Shape shape = marker.shape();
  const bool is_tuple =
      shape.IsTuple() && shape.element_count_of_tuple() == marker.operand_count() &&
      std::equal(
          marker.operands().begin(), marker.operands().end(), shape.elements().begin(),
          [](const Instruction* operand, Shape element) { return operand->shape() == element; });
  const bool is_whole = marker.operand_count() == 1 && marker.operand(0)->shape() == shape;
  if (is_tuple || (is_whole && !(begins && shape.IsTuple()))) return absl::OkStatus();
  return Error(marker.loc(), "marker `{}` yields `{}`, not its operands", marker.name(), shape);
}

class Outliner {
 public:
  Outliner(const Computation& computation, PassContext& context) : context_(context) {
    for (Instruction* instruction : computation.PostOrder()) {
      if (IsCustomCall(*instruction, kCallBegins)) begins_.push_back(instruction);
      if (IsCustomCall(*instruction, kCallEnds)) ends_.push_back(instruction);
    }
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (Instruction* end : ends_) {
      RETURN_IF_ERROR(CheckMarker(*end, /*begins=*/false));
      Instruction* const begin = TakeBegin(*end);
      if (begin == nullptr)
        return Error(end->loc(), "`{}` ends a call of `{}` that nothing begins", end->name(),
                     FrontendAttribute(*end, kMarkedComputation));
      RETURN_IF_ERROR(CheckMarker(*begin, /*begins=*/true));
      Block block(begin, end);
      for (const Instruction* member : block.members()) {
        if (IsCustomCall(*member, kCallBegins) && absl::c_linear_search(begins_, member))
          return Error(member->loc(),
                       "the call of `{}` begins in that of `{}`, but does not end there",
                       FrontendAttribute(*member, kMarkedComputation),
                       FrontendAttribute(*end, kMarkedComputation));
      }
      if (!context_.Allowed(*end, block.CanBeCalled())) continue;
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*end, "becomes a call");
      context_.Count("outlined");
      RETURN_IF_ERROR(block.Outline());
      changed = true;
    }
    for (const Instruction* begin : begins_)
      return Error(begin->loc(), "`{}` begins a call of `{}` that nothing ends", begin->name(),
                   FrontendAttribute(*begin, kMarkedComputation));
    return changed;
  }

 private:
  // The nearest one of its name that `end` needs; of calls without operands any one.
  Instruction* TakeBegin(const Instruction& end) {
    const MemberSet above = ReachedFrom(&end, /*downwards=*/false);
    const std::string_view name = FrontendAttribute(end, kMarkedComputation);
    size_t found = begins_.size();
    for (size_t i = 0; i < begins_.size(); ++i) {
      if (FrontendAttribute(*begins_[i], kMarkedComputation) != name) continue;
      if (above.contains(begins_[i])) {
        found = i;
      } else if (found == begins_.size() && begins_[i]->operand_count() == 0) {
        found = i;
      }
    }
    if (found == begins_.size()) return nullptr;
    Instruction* const begin = begins_[found];
    begins_.erase(begins_.begin() + static_cast<std::ptrdiff_t>(found));
    return begin;
  }

  PassContext& context_;
  std::vector<Instruction*> begins_;  // without an end so far, in post-order
  std::vector<Instruction*> ends_;
};

}  // namespace

absl::StatusOr<bool> CallOutliner::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module, {Opcode::kCustomCall}),
                    [&](Computation& computation) { return Outliner(computation, context).Run(); });
}

HLO_DEFINE_PASS(CallOutliner)

}  // namespace hlo
