#include "passes/control_flow/while_loop_fusible_sinking.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/elementwise.h"
#include "lib/support/contains.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// XLA's limit. It only looks when it comes to something for the second time, so that trees may be
// larger.
constexpr size_t kMostMoved = 100;

// Makes many elements of few.
bool Expands(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBroadcast || instruction.opcode() == Opcode::kIota ||
         (instruction.IsConstant() && instruction.shape().IsScalar() &&
          !instruction.literal().is_elided());
}

bool PassesOn(const Instruction& instruction) {
  return (WorksByElement(instruction) && instruction.operand_count() > 0 &&
          !instruction.HasSideEffect()) ||
         (instruction.IsConstant() && !instruction.literal().is_elided()) ||
         instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kTranspose;
}

bool IsLookedUp(const Instruction& value) {
  return absl::c_any_of(value.uses(), [](const Use& use) {
    const Opcode opcode = use.user->opcode();
    return opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather || opcode == Opcode::kSlice;
  });
}

// Whether `value` is made of little by operations that may be done again.
bool IsMadeOfLittle(const Instruction* value) {
  absl::flat_hash_set<const Instruction*> seen;
  std::vector<const Instruction*> pending = {value};
  while (!pending.empty()) {
    const Instruction* const top = pending.back();
    pending.pop_back();
    if (top->has_control_edges()) return false;
    if (!seen.insert(top).second) {
      if (seen.size() > kMostMoved) return false;
      continue;
    }
    if (Expands(*top)) continue;
    if (!PassesOn(*top)) return false;
    pending.insert(pending.end(), top->operands().begin(), top->operands().end());
  }
  return true;
}

// What a value is made of, as XLA fuses it: what passes on first, then what expands.
class MadeOf {
 public:
  explicit MadeOf(Instruction* value) : value_(value) {
    Take(value);
    if (!Expands(*value)) TakeAll(/*expanding=*/false);
    TakeAll(/*expanding=*/true);
  }

  // What these read, in the order in which a fusion would.
  const std::vector<Instruction*>& operands() const { return operands_; }

  // Operands first.
  std::vector<Instruction*> InOrder() const {
    std::vector<Instruction*> order;
    absl::flat_hash_set<const Instruction*> done;
    std::vector<Instruction*> stack = {value_};
    while (!stack.empty()) {
      Instruction* const top = stack.back();
      const size_t before = stack.size();
      for (Instruction* operand : top->operands()) {
        if (taken_.contains(operand) && !done.contains(operand)) stack.push_back(operand);
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      if (done.insert(top).second) order.push_back(top);
    }
    return order;
  }

 private:
  void Take(Instruction* instruction) {
    taken_.insert(instruction);
    for (Instruction* operand : instruction->operands()) {
      if (!taken_.contains(operand) && !Contains(operands_, operand)) operands_.push_back(operand);
    }
  }

  // The last operand of its kind first, as long as there is one.
  void TakeAll(bool expanding) {
    const auto is_next = [&](const Instruction* operand) { return Expands(*operand) == expanding; };
    for (;;) {
      const auto last = std::find_if(operands_.rbegin(), operands_.rend(), is_next);
      if (last == operands_.rend()) return;
      Instruction* const operand = *last;
      operands_.erase(std::next(last).base());
      Take(operand);
    }
  }

  Instruction* value_;
  absl::flat_hash_set<const Instruction*> taken_;
  std::vector<Instruction*> operands_;
};

// CarryMore, without the tuple that the loop started with.
absl::StatusOr<std::vector<Instruction*>> CarryInstead(Instruction* loop,
                                                       const std::vector<Instruction*>& values) {
  Instruction* const old_init = loop->operand(0);
  ASSIGN_OR_RETURN(std::vector<Instruction*> reads, CarryMore(loop, values));
  if (!old_init->is_used() && !old_init->has_control_edges())
    loop->parent()->RemoveUnused(old_init);
  return reads;
}

class OneLoopSinking {
 public:
  OneLoopSinking(Instruction* loop, PassContext& context) : loop_(loop), context_(context) {}

  absl::StatusOr<bool> Run() {
    if (loop_->operand(0)->opcode() != Opcode::kTuple || !CanCarryMore(*loop_)) return false;
    Choose();
    if (chosen_.empty()) return false;
    std::vector<Instruction*> carried;
    for (const Chosen& chosen : chosen_)
      carried.insert(carried.end(), chosen.carried.begin(), chosen.carried.end());
    std::vector<Instruction*> reads;
    if (!carried.empty()) {
      ASSIGN_OR_RETURN(reads, CarryInstead(loop_, carried));
    }
    size_t next_read = 0;
    for (const Chosen& chosen : chosen_) {
      absl::flat_hash_map<const Instruction*, Instruction*> inside;
      for (const Instruction* operand : chosen.carried) inside[operand] = reads[next_read++];
      MakeInside(chosen, inside);
    }
    context_.Count("sunk", static_cast<int64_t>(chosen_.size()));
    return true;
  }

 private:
  // What the body reads, what that is made of, and what these read.
  struct Chosen {
    Instruction* read;
    std::vector<Instruction*> moved;
    std::vector<Instruction*> carried;
  };

  void Choose() {
    const Computation& body = *loop_->while_body();
    for (int i = 0; i < body.root()->operand_count(); ++i) {
      Instruction* const read = body.root()->operand(i);
      if (!IsParameterElement(*read, i) || read->has_control_edges() || IsLookedUp(*read)) continue;
      Instruction* const value = loop_->operand(0)->operand(i);
      if (!IsMadeOfLittle(value)) continue;
      if (!context_.MayRewrite()) return;
      context_.Passed(*value, "loop `{}` makes it itself", loop_->name());
      const MadeOf made_of(value);
      chosen_.push_back({read, made_of.InOrder(), made_of.operands()});
    }
  }

  // Copies what moves into the body, where `inside` holds what it reads.
  void MakeInside(const Chosen& chosen,
                  absl::flat_hash_map<const Instruction*, Instruction*>& inside) {
    for (const Instruction* instruction : chosen.moved) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : instruction->operands())
        operands.push_back(inside.at(operand));
      Instruction* copy =
          loop_->while_body()->AddClone(*instruction, instruction->shape(), operands);
      copy->set_loc(instruction->loc());
      inside[instruction] = copy;
    }
    ReadBesideLoop(chosen.read->tuple_index(), chosen.moved.back());
    ReplaceRead(chosen.read, inside.at(chosen.moved.back()));
  }

  // After the loop, too, element `i` is `value`.
  void ReadBesideLoop(int64_t i, Instruction* value) const {
    for (Instruction* user : loop_->users()) {
      if (user->opcode() == Opcode::kGetTupleElement && user->tuple_index() == i)
        ReplaceRead(user, value);
    }
  }

  static void ReplaceRead(Instruction* read, Instruction* value) {
    read->ReplaceAllUsesWith(value);
    if (read->is_root()) read->parent()->set_root(value);
    if (!read->has_control_edges()) read->parent()->Remove(read);
  }

  Instruction* loop_;
  PassContext& context_;
  std::vector<Chosen> chosen_;
};

// The only get-tuple-element of element `i`; null if there are several.
Instruction* OnlyRead(const Computation& computation, int64_t i) {
  Instruction* only = nullptr;
  for (Instruction* read : computation.parameter(0)->users()) {
    if (read->opcode() != Opcode::kGetTupleElement || read->tuple_index() != i) continue;
    if (only != nullptr) return nullptr;
    only = read;
  }
  return only;
}

// The elements that start as a broadcast of a constant and of which each iteration computes all.
std::vector<int> OverwrittenElements(const Instruction& loop) {
  const Instruction& init = *loop.operand(0);
  const Instruction& root = *loop.while_body()->root();
  std::vector<int> elements;
  if (init.opcode() != Opcode::kTuple || init.use_count() != 1) return elements;
  for (int i = 0; i < init.operand_count(); ++i) {
    const Instruction& first = *init.operand(i);
    const Opcode next = root.operand(i)->opcode();
    if (first.opcode() == Opcode::kBroadcast && first.operand(0)->IsConstant() &&
        first.operand(0)->shape().IsScalar() && !first.operand(0)->literal().is_elided() &&
        OnlyRead(*loop.while_body(), i) != nullptr && IsElementwise(next) && next != Opcode::kClamp)
      elements.push_back(i);
  }
  return elements;
}

// Lets `loop` start with buffers that nobody has written where its first iteration can make what
// they would hold.
absl::StatusOr<bool> SinkFirstValues(Instruction* loop, PassContext& context) {
  const std::optional<int64_t> counter = InductionIndex(*loop);
  if (loop->sharding() != nullptr || !counter || TripCount(*loop).value_or(0) == 0 ||
      !CanCarryMore(*loop))
    return false;
  Computation& body = *loop->while_body();
  const std::vector<int> elements = OverwrittenElements(*loop);
  if (elements.empty()) return false;  // then the first state is a tuple
  Instruction* const first = loop->operand(0)->operand(static_cast<int>(*counter));
  const Opcode step = body.root()->operand(static_cast<int>(*counter))->opcode();
  Instruction* const count = OnlyRead(body, *counter);
  if (!IsInteger(first->shape().element_type()) ||
      (step != Opcode::kAdd && step != Opcode::kSubtract) || count == nullptr ||
      !context.MayRewrite())
    return false;
  ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryInstead(loop, {first}));
  Builder inside(&body);
  Instruction* const is_first = inside.Compare(count, reads.front(), ComparisonDirection::kEq);
  for (const int i : elements) {
    Instruction* const value = loop->operand(0)->operand(i);
    context.Passed(*value, "the first iteration of loop `{}` makes it itself", loop->name());
    Builder outside(loop->parent(), value);
    CustomCallAttrs attrs;
    attrs.custom_call_target = "AllocateBuffer";
    loop->operand(0)->ReplaceOperand(i, outside.OpWithShape(Opcode::kCustomCall, value->shape(), {},
                                                            AttrsPtr::Make(std::move(attrs))));
    RETURN_IF_ERROR(outside.status());
    Instruction* const read = OnlyRead(body, i);
    const std::vector<Use> uses(read->uses().begin(), read->uses().end());
    inside.set_origin(read);
    Instruction* const constant = inside.Constant(value->operand(0)->literal());
    Instruction* const broadcast =
        inside.OpWithShape(Opcode::kBroadcast, value->shape(), {constant}, value->attrs_ptr());
    Instruction* const chosen =
        inside.Select(inside.Broadcast(is_first, value->shape().dims(), {}), broadcast, read);
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, chosen);
    if (!value->has_uses() && !value->is_root() && !value->has_control_edges())
      value->parent()->RemoveUnused(value);
    context.Count("buffers");
  }
  RETURN_IF_ERROR(inside.status());
  return true;
}

}  // namespace

absl::StatusOr<bool> WhileLoopFusibleSinking::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      ASSIGN_OR_RETURN(const bool sunk, OneLoopSinking(loop, context).Run());
      changed |= sunk;
    }
  }
  if (options_.sink_broadcast_of_constant) {
    for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
      for (Instruction* loop : computation->PostOrder()) {
        if (loop->opcode() != Opcode::kWhile || !loop->shape().IsTuple()) continue;
        ASSIGN_OR_RETURN(const bool sunk, SinkFirstValues(loop, context));
        changed |= sunk;
      }
    }
  }
  return changed;
}

HLO_DEFINE_PASS(WhileLoopFusibleSinking)

}  // namespace hlo
