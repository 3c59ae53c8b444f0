#include "passes/control_flow/infeed_token_propagation.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/builder.h"
#include "lib/ops/attrs.h"
#include "passes/rewrite.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/loop_state.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

int TokenOperand(Opcode opcode) { return opcode == Opcode::kInfeed ? 0 : 1; }

bool IsFresh(const Instruction& token) {
  return token.opcode() == Opcode::kAfterAll && token.operand_count() == 0;
}

bool HasConfig(const Instruction& feed) {
  return feed.opcode() == Opcode::kInfeed ? !feed.attrs<InfeedAttrs>().infeed_config.empty()
                                          : !feed.attrs<OutfeedAttrs>().outfeed_config.empty();
}

// The infeed (outfeed) that made this token; null if none did.
Instruction* MakerOf(Instruction* token, Opcode opcode) {
  if (opcode == Opcode::kInfeed && token->opcode() == Opcode::kGetTupleElement)
    token = token->operand(0);
  return token->opcode() == opcode ? token : nullptr;
}

// Infeeds (outfeeds) each of which takes the token of the one before.
struct Chain {
  explicit Chain(Instruction* feed) : opcode(feed->opcode()), begin(feed), end(feed) {
    while (Instruction* const before = MakerOf(begin->operand(TokenOperand(opcode)), opcode))
      begin = before;
    while (Instruction* const after = NextOf(end)) end = after;
  }

  static Instruction* NextOf(Instruction* feed) {
    const Opcode opcode = feed->opcode();
    for (const Use& use : feed->uses()) {
      const Instruction& user = *use.user;
      if (user.opcode() == opcode && use.operand_index == TokenOperand(opcode)) return use.user;
      if (opcode != Opcode::kInfeed || user.opcode() != Opcode::kGetTupleElement ||
          user.tuple_index() != 1 || !user.has_one_user())
        continue;
      const Use& next = user.uses().front();
      if (next.user->opcode() == opcode) return next.user;
    }
    return nullptr;
  }

  // Whether its token comes from nothing and goes nowhere.
  bool IsDangling() const {
    if (!IsFresh(*begin->operand(TokenOperand(opcode))) || end->is_root()) return false;
    if (opcode == Opcode::kOutfeed) return !end->has_uses();
    return absl::c_all_of(end->uses(), [](const Use& use) {
      return use.user->opcode() == Opcode::kGetTupleElement && use.user->tuple_index() != 1;
    });
  }

  Instruction* Token() const {
    if (opcode == Opcode::kOutfeed) return end;
    Builder b(end->parent());
    return b.GetTupleElement(end, 1);
  }

  Opcode opcode;
  Instruction* begin;
  Instruction* end;
};

bool DependsOn(const Instruction* user, const Instruction* producer) {
  absl::flat_hash_set<const Instruction*> seen = {user};
  std::vector<const Instruction*> pending = {user};
  while (!pending.empty()) {
    const Instruction* const instruction = pending.back();
    pending.pop_back();
    if (instruction == producer) return true;
    const auto visit = [&](const Instruction* before) {
      if (seen.insert(before).second) pending.push_back(before);
    };
    for (int i = 0; i < instruction->operand_count(); ++i) visit(instruction->operand(i));
    for (const Instruction* before : instruction->control_predecessors()) visit(before);
  }
  return false;
}

// The loop whose body `computation` is, or the conditional of which it is a branch, if tokens can
// be led through it; else null.
Instruction* CallerToLeadThrough(const Computation& computation) {
  if (computation.is_entry() || computation.callers().size() != 1) return nullptr;
  Instruction* const caller = computation.callers()[0].caller;
  const bool is_body = caller->opcode() == Opcode::kWhile && caller->while_body() == &computation;
  if ((!is_body && caller->opcode() != Opcode::kConditional) || caller->sharding() != nullptr)
    return nullptr;
  const std::vector<Computation*> calls = caller->calls();
  const bool is_only_caller = absl::c_all_of(
      calls, [](const Computation* callee) { return callee->callers().size() == 1; });
  return is_only_caller ? caller : nullptr;
}

// x  =>  tuple(x)
void MakeTuple(Instruction* value) {
  const std::vector<Use> uses(value->uses().begin(), value->uses().end());
  const bool was_root = value->is_root();
  value->set_shape(Shape::Tuple({value->shape()}));
  if (value->sharding() != nullptr) value->mutable_extras().sharding->is_tuple = true;
  if (const OriginalValue::Node* const origin = OriginOf(*value)) {
    OriginalValue::Node tuple;
    tuple.is_tuple = true;
    tuple.children.push_back(*origin);
    SetOrigin(value, &tuple);
  }
  Builder b(value->parent());
  Instruction* const element = b.GetTupleElement(value, 0);
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, element);
  if (was_root) value->parent()->set_root(element);
}

Instruction* TupleOf(Instruction* value) {
  if (value->shape().IsTuple()) return value;
  Builder b(value->parent());
  return b.Tuple({value});
}

// A token on its way out of the loops and branches around `at`, which is what gives it: a chain, or
// a loop or conditional that has one inside.
struct Led {
  Opcode opcode;  // of the chain
  Instruction* at;
  Use input;  // who reads a fresh token
  Instruction* output;
};

class TokenLeader {
 public:
  explicit TokenLeader(PassContext& context) : context_(context) {}

  absl::StatusOr<bool> Run(const std::vector<Computation*>& computations) {
    if (absl::c_any_of(computations, HoldsDomain)) return false;
    for (const Computation* computation : computations) RETURN_IF_ERROR(CheckCallers(*computation));
    bool changed = false;
    for (const Opcode opcode : {Opcode::kInfeed, Opcode::kOutfeed}) {
      for (Computation* computation : computations) {
        Instruction* const feed = FirstDangling(*computation, opcode);
        if (feed == nullptr) continue;
        if (CallerToLeadThrough(*computation) == nullptr) {
          context_.Missed(*feed, "its token cannot be led through the caller");
          continue;
        }
        if (!context_.MayRewrite()) return changed;
        context_.Passed(*feed, "gives its token to those around it");
        context_.Count("changed");
        RETURN_IF_ERROR(LeadOut(Chain(feed)));
        changed = true;
      }
    }
    return changed;
  }

 private:
  static bool HoldsDomain(const Computation* computation) {
    if (computation->is_entry() || !computation->MayHoldAny({Opcode::kDomain})) return false;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kDomain) return true;
    }
    return false;
  }

  static Instruction* FirstDangling(const Computation& computation, Opcode opcode) {
    if (computation.is_entry()) return nullptr;
    for (Instruction* instruction : computation.instructions()) {
      if (instruction->opcode() == opcode && !HasConfig(*instruction) &&
          Chain(instruction).IsDangling())
        return instruction;
    }
    return nullptr;
  }

  // Each computation around a dangling chain has one caller.
  static absl::Status CheckCallers(const Computation& computation) {
    const Instruction* feed = FirstDangling(computation, Opcode::kInfeed);
    if (feed == nullptr) feed = FirstDangling(computation, Opcode::kOutfeed);
    if (feed == nullptr) return absl::OkStatus();
    const Computation* around = &computation;
    while (!around->is_entry() && !around->callers().empty()) {
      if (around->callers().size() > 1)
        return Error(feed->loc(),
                     "the token of `{}` is to leave `{}`, which is called in {} places, expected "
                     "one; `flatten-call-graph` makes it so",
                     feed->name(), around->name(), around->callers().size());
      around = around->callers()[0].caller->parent();
    }
    return absl::OkStatus();
  }

  static absl::Status LeadOut(const Chain& chain) {
    Led led = {chain.opcode, chain.end, {chain.begin, TokenOperand(chain.opcode)}, chain.Token()};
    while (Instruction* const caller = CallerToLeadThrough(*led.at->parent())) {
      RETURN_IF_ERROR(caller->opcode() == Opcode::kWhile ? LeadOutOfLoop(led, caller)
                                                         : LeadOutOfBranch(led, caller));
      Join(led);
    }
    return absl::OkStatus();
  }

  // What feeds beside the loop or conditional, before or after it, is in one chain with it.
  static void Join(Led& led) {
    for (Instruction* feed : led.at->parent()->instructions()) {
      if (feed->opcode() != led.opcode || HasConfig(*feed)) continue;
      const Chain chain(feed);
      const int operand = TokenOperand(led.opcode);
      if (!chain.IsDangling()) return;
      if (DependsOn(led.at, chain.end)) {
        led.input.user->ReplaceOperand(led.input.operand_index, chain.Token());
        led.input = {chain.begin, operand};
      } else if (DependsOn(chain.begin, led.at)) {
        chain.begin->ReplaceOperand(operand, led.output);
        led.output = chain.Token();
      }
      return;
    }
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
    value->mutable_extras().sharding->leaves.push_back(Sharding::Maximal(0).leaves[0]);
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
      appended->set_sharding(*tuple->sharding());
      AddLeaf(appended);
    }
    return appended;
  }

  static absl::Status LeadOutOfLoop(Led& led, Instruction* loop) {
    Computation& body = *loop->while_body();
    Computation& condition = *loop->while_condition();
    if (!loop->shape().IsTuple()) {
      MakeTuple(condition.parameter(0));
      MakeTuple(body.parameter(0));
      body.set_root(TupleOf(body.root()));
      loop->ReplaceOperand(0, TupleOf(loop->operand(0)));
      MakeTuple(loop);
    }
    const int last = loop->shape().element_count_of_tuple();
    Builder in_condition(&condition), in_body(&body), b(loop->parent());
    Extend(condition.parameter(0), in_condition);
    Extend(body.parameter(0), in_body);
    body.set_root(Appended(body.root(), led.output, in_body));
    led.input.user->ReplaceOperand(led.input.operand_index,
                                   in_body.GetTupleElement(body.parameter(0), last));
    Instruction* const init = Appended(loop->operand(0), b.Op(Opcode::kAfterAll, {}), b);
    loop->ReplaceOperand(0, init);
    Extend(loop, b);
    led = {led.opcode, loop, {init, last}, b.GetTupleElement(loop, last)};
    RETURN_IF_ERROR(in_condition.status());
    RETURN_IF_ERROR(in_body.status());
    return b.status();
  }

  // The other branches return a fresh token.
  static absl::Status LeadOutOfBranch(Led& led, Instruction* conditional) {
    Computation& feeding = *led.at->parent();
    const bool was_tuple = conditional->shape().IsTuple();
    Builder b(conditional->parent());
    Instruction* argument = nullptr;
    int last = 0;
    for (int i = 0; i < conditional->call_count(); ++i) {
      Computation& branch = *conditional->call(i);
      if (Instruction* const parameter = branch.parameter(0); !parameter->shape().IsTuple()) {
        MakeTuple(parameter);
        conditional->ReplaceOperand(i + 1, TupleOf(conditional->operand(i + 1)));
      }
      if (!was_tuple) branch.set_root(TupleOf(branch.root()));
      Builder inside(&branch);
      const bool feeds = &branch == &feeding;
      Instruction* const token = feeds ? led.output : inside.Op(Opcode::kAfterAll, {});
      branch.set_root(Appended(branch.root(), token, inside));
      if (feeds) {
        last = branch.parameter(0)->shape().element_count_of_tuple();
        Extend(branch.parameter(0), inside);
        led.input.user->ReplaceOperand(led.input.operand_index,
                                       inside.GetTupleElement(branch.parameter(0), last));
        argument = Appended(conditional->operand(i + 1), b.Op(Opcode::kAfterAll, {}), b);
        conditional->ReplaceOperand(i + 1, argument);
      }
      RETURN_IF_ERROR(inside.status());
    }
    if (!was_tuple) MakeTuple(conditional);
    const int result = conditional->shape().element_count_of_tuple();
    Extend(conditional, b);
    led = {led.opcode, conditional, {argument, last}, b.GetTupleElement(conditional, result)};
    return b.status();
  }

  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> InfeedTokenPropagation::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const bool changed,
                   TokenLeader(context).Run(context.NonFusionComputations(module)));
  if (changed) {
    RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
    RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  }
  return changed;
}

HLO_DEFINE_PASS(InfeedTokenPropagation)

}  // namespace hlo
