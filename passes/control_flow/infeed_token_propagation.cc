#include "passes/control_flow/infeed_token_propagation.h"

#include <algorithm>
#include <map>

#include "lib/ir/builder.h"
#include "passes/util/loop_state.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

// Something that takes a token that comes from nothing and gives one that goes nowhere.
struct Dangling {
  Instruction* op;
  std::vector<std::pair<Instruction*, int>> inputs;  // who reads the token, as which operand
  int64_t result;                                    // the element that is its token; -1: it itself
};

bool IsFreshToken(const Instruction& token) {
  return token.opcode() == Opcode::kAfterAll && token.operand_count() == 0;
}

bool IsElementRead(const Instruction& tuple, int64_t i) {
  return tuple.is_root() ||
         std::any_of(tuple.uses().begin(), tuple.uses().end(), [&](const Use& use) {
           return use.user->opcode() != Opcode::kGetTupleElement ||
                  (use.user->tuple_index() == i && (use.user->has_uses() || use.user->is_root()));
         });
}

class TokenLeader {
 public:
  explicit TokenLeader(PassContext& context) : context_(context) {}

  absl::StatusOr<bool> Run(const std::vector<Computation*>& computations) {
    bool changed = false;
    for (Computation* computation : computations) {
      for (Instruction* instruction : computation->PostOrder()) {
        const Opcode opcode = instruction->opcode();
        if (opcode != Opcode::kWhile && opcode != Opcode::kConditional) continue;
        if (!HasDangling(*instruction) || !CanChange(*instruction)) continue;
        if (!context_.MayRewrite()) return changed;
        context_.Passed(*instruction, "carries the tokens of what feeds in and out inside");
        RETURN_IF_ERROR(opcode == Opcode::kWhile ? LeadOutOfLoop(instruction)
                                                 : LeadOutOfBranches(instruction));
        context_.Count("changed");
        changed = true;
      }
    }
    return changed;
  }

 private:
  std::vector<Dangling> DanglingIn(const Computation& computation) const {
    std::vector<Dangling> found;
    for (Instruction* op : computation.PostOrder()) {
      if (const auto it = led_.find(op->id()); it != led_.end()) {
        found.push_back(it->second);
      } else if (op->opcode() == Opcode::kInfeed && IsFreshToken(*op->operand(0)) &&
                 !IsElementRead(*op, 1)) {
        found.push_back({op, {{op, 0}}, 1});
      } else if (op->opcode() == Opcode::kOutfeed && IsFreshToken(*op->operand(1)) &&
                 !op->has_uses() && !op->is_root()) {
        found.push_back({op, {{op, 1}}, -1});
      }
    }
    return found;
  }

  bool HasDangling(const Instruction& caller) const {
    const int first = caller.opcode() == Opcode::kWhile ? 1 : 0;
    for (int i = first; i < caller.call_count(); ++i) {
      if (!DanglingIn(*caller.call(i)).empty()) return true;
    }
    return false;
  }

  bool CanChange(const Instruction& caller) const {
    const std::vector<Computation*> calls = caller.calls();
    if (std::any_of(calls.begin(), calls.end(),
                    [](const Computation* callee) { return callee->callers().size() != 1; })) {
      context_.Missed(caller, "something else calls its computations, too");
      return false;
    }
    if (caller.opcode() == Opcode::kWhile && !caller.shape().IsTuple()) {
      context_.Missed(caller, "its state is no tuple");
      return false;
    }
    return true;
  }

  // Lets all that dangles in `computation` follow `token`; the last token.
  Instruction* Thread(const Computation& computation, Instruction* token, Builder& b) const {
    for (const Dangling& dangling : DanglingIn(computation)) {
      for (const auto& [reader, operand] : dangling.inputs) {
        Instruction* fresh = reader->operand(operand);
        reader->ReplaceOperand(operand, token);
        if (!fresh->has_uses() && !fresh->is_root() && !fresh->has_control_edges())
          fresh->parent()->RemoveUnused(fresh);
      }
      token = dangling.result < 0 ? dangling.op : b.GetTupleElement(dangling.op, dangling.result);
    }
    return token;
  }

  // Of the token, which a tuple has now for its last element, nobody has said anything.
  static void AddLeaf(Instruction* value) {
    if (const OriginalValue::Node* const origin = OriginOf(*value);
        origin != nullptr && origin->is_tuple) {
      OriginalValue::Node wide = *origin;
      wide.children.push_back(UnknownOrigin(Shape::Token()));
      SetOrigin(value, &wide);
    }
    if (value->sharding() == nullptr || !value->sharding()->is_tuple) return;
    value->mutable_extras().sharding->leaves.push_back(Sharding::Replicated().leaves[0]);
  }

  static Shape WithToken(Shape tuple) {
    std::vector<Shape> elements(tuple.elements().begin(), tuple.elements().end());
    elements.push_back(Shape::Token());
    return Shape::Tuple(elements);
  }

  // Gives a tuple a token as last element; who reads it as a whole reads a tuple without it.
  static void Extend(Instruction* tuple, Builder& b) {
    const Shape old = tuple->shape();
    std::vector<Use> whole;
    for (const Use& use : tuple->uses()) {
      if (use.user->opcode() != Opcode::kGetTupleElement) whole.push_back(use);
    }
    const bool was_root = tuple->is_root();
    tuple->set_shape(WithToken(old));
    AddLeaf(tuple);
    if (whole.empty() && !was_root) return;
    std::vector<Instruction*> elements;
    for (int i = 0; i < old.element_count_of_tuple(); ++i)
      elements.push_back(b.GetTupleElement(tuple, i));
    Instruction* rebuilt = b.Tuple(elements);
    for (const Use& use : whole) use.user->ReplaceOperand(use.operand_index, rebuilt);
    if (was_root) tuple->parent()->set_root(rebuilt);
  }

  // A tuple of the elements of `tuple` and `token`.
  static Instruction* Appended(Instruction* tuple, Instruction* token, Builder& b) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < tuple->shape().element_count_of_tuple(); ++i)
      elements.push_back(ReadElement(b, tuple, i));
    elements.push_back(token);
    Instruction* appended = b.Tuple(elements);
    if (tuple->sharding() != nullptr) {
      appended->mutable_extras().sharding = *tuple->sharding();
      AddLeaf(appended);
    }
    return appended;
  }

  absl::Status LeadOutOfLoop(Instruction* loop) {
    const int last = loop->shape().element_count_of_tuple();
    Computation& body = *loop->while_body();
    Builder in_condition(loop->while_condition()), in_body(&body), b(loop->parent());
    Extend(loop->while_condition()->parameter(0), in_condition);
    Extend(body.parameter(0), in_body);
    Instruction* const root = body.root();
    Instruction* token = Thread(body, in_body.GetTupleElement(body.parameter(0), last), in_body);
    body.set_root(Appended(root, token, in_body));
    RemoveIfUnused(root);
    Instruction* const old_init = loop->operand(0);
    Instruction* init = Appended(old_init, b.Op(Opcode::kAfterAll, {}), b);
    loop->ReplaceOperand(0, init);
    RemoveIfUnused(old_init);
    Extend(loop, b);
    led_[loop->id()] = {loop, {{init, last}}, last};
    RETURN_IF_ERROR(in_condition.status());
    RETURN_IF_ERROR(in_body.status());
    return b.status();
  }

  static void RemoveIfUnused(Instruction* tuple) {
    if (tuple->opcode() == Opcode::kTuple && !tuple->has_uses() && !tuple->is_root() &&
        !tuple->has_control_edges())
      tuple->parent()->RemoveUnused(tuple);
  }

  absl::Status LeadOutOfBranches(Instruction* conditional) {
    Builder b(conditional->parent());
    Instruction* fresh = b.Op(Opcode::kAfterAll, {});
    Dangling led{conditional, {}, 1};
    for (int i = 0; i < conditional->call_count(); ++i) {
      Computation& branch = *conditional->call(i);
      Instruction* argument = b.Tuple({conditional->operand(i + 1), fresh});
      conditional->ReplaceOperand(i + 1, argument);
      led.inputs.emplace_back(argument, 1);
      Builder inside(&branch);
      Instruction* const parameter = branch.parameter(0);
      const std::vector<Use> uses(parameter->uses().begin(), parameter->uses().end());
      const bool is_root = parameter->is_root();
      parameter->set_shape(argument->shape());
      if (parameter->sharding() != nullptr) parameter->mutable_extras().sharding.reset();
      Instruction* value = inside.GetTupleElement(parameter, 0);
      for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, value);
      if (is_root) branch.set_root(value);
      Instruction* token = Thread(branch, inside.GetTupleElement(parameter, 1), inside);
      branch.set_root(inside.Tuple({branch.root(), token}));
      RETURN_IF_ERROR(inside.status());
    }
    const std::vector<Use> uses(conditional->uses().begin(), conditional->uses().end());
    const bool was_root = conditional->is_root();
    conditional->set_shape(Shape::Tuple({conditional->shape(), Shape::Token()}));
    if (conditional->sharding() != nullptr) conditional->mutable_extras().sharding.reset();
    Instruction* value = b.GetTupleElement(conditional, 0);
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, value);
    if (was_root) conditional->parent()->set_root(value);
    led_[conditional->id()] = std::move(led);
    return b.status();
  }

  PassContext& context_;
  std::map<uint32_t, Dangling> led_;  // loops and conditionals that have been changed
};

}  // namespace

absl::StatusOr<bool> InfeedTokenPropagation::Run(Module& module, PassContext& context) {
  return TokenLeader(context).Run(
      context.NonFusionComputations(module, {Opcode::kWhile, Opcode::kConditional}));
}

HLO_DEFINE_PASS(InfeedTokenPropagation)

}  // namespace hlo
