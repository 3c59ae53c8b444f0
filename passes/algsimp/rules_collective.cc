// Rules rooted at collectives of constants, and for what optimization barriers hold back.
#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "passes/algsimp/rules.h"
#include "passes/util/origins.h"

namespace hlo::algsimp {
namespace {

// The constant that a collective of one array gets in every element; null for others.
Instruction* SplatOperand(const Instruction* op) {
  if (op->operand_count() != 1 || !op->shape().IsArray() || op->has_control_edges() ||
      op->operand(0)->opcode() != Opcode::kBroadcast || op->shape().has_dynamic_dims())
    return nullptr;
  Instruction* scalar = op->operand(0)->operand(0);
  return scalar->IsConstant() && scalar->shape().IsScalar() && !scalar->literal().is_elided()
             ? scalar
             : nullptr;
}

// Whether combining any number of equal values gives that value.
bool Chooses(std::optional<Opcode> opcode, ElementType type) {
  return opcode == Opcode::kMaximum || opcode == Opcode::kMinimum ||
         (type == ElementType::kPred && (opcode == Opcode::kAnd || opcode == Opcode::kOr));
}

// all-reduce(broadcast(c))  =>  broadcast(c) for max and min, broadcast(c * size of
//     the group) for sums
Instruction* ReduceOfSplat(Instruction* op, Rewriter& rewriter) {
  Instruction* scalar = SplatOperand(op);
  if (scalar == nullptr) return nullptr;
  const ElementType type = scalar->shape().element_type();
  const std::optional<Opcode> opcode = CombinerOpcode(*op->to_apply());
  if (Chooses(opcode, type)) return BroadcastLike(rewriter, scalar, op);
  if (opcode != Opcode::kAdd || !(IsInteger(type) || IsFloat(type))) return nullptr;
  const std::optional<int64_t> size = GroupSize(*op);
  if (!size || *size == 0) return nullptr;
  Literal total = scalar->literal();
  if (IsInteger(type)) {
    total.SetInt(0, static_cast<int64_t>(static_cast<uint64_t>(total.GetInt()) *
                                         static_cast<uint64_t>(*size)));
  } else {
    total.SetDouble(0, total.GetDouble() * static_cast<double>(*size));
  }
  return BroadcastLike(rewriter, rewriter.Constant(std::move(total)), op);
}

// all-gather(broadcast(c))  =>  broadcast(c)
Instruction* GatherOfSplat(Instruction* op, Rewriter& rewriter) {
  Instruction* scalar = SplatOperand(op);
  return scalar == nullptr ? nullptr : BroadcastLike(rewriter, scalar, op);
}

// all-to-all(broadcast(c))  =>  broadcast(c)
Instruction* ExchangeOfSplat(Instruction* op, Rewriter&) {
  if (SplatOperand(op) == nullptr) return nullptr;
  return Compatible(op->operand(0)->shape(), op->shape()) ? op->operand(0) : nullptr;
}

// Which elements of a barrier on a tuple must stay: those that are read, tokens, and those that do
// something or that others read.
std::vector<bool> HeldElements(const Instruction* barrier) {
  const Instruction* operand = barrier->operand(0);
  std::vector<bool> held(static_cast<size_t>(barrier->shape().element_count_of_tuple()), false);
  for (const Use& use : barrier->uses()) held[static_cast<size_t>(use.user->tuple_index())] = true;
  for (size_t i = 0; i < held.size(); ++i) {
    const auto index = static_cast<int>(i);
    if (barrier->shape().element(index).IsToken()) held[i] = true;
    if (held[i] || operand->opcode() != Opcode::kTuple) continue;
    const Instruction* element = operand->operand(index);
    held[i] = !element->has_one_user() || element->is_root() || element->HasSideEffect();
  }
  return held;
}

// Element `i` of a tuple, taken from where it is already if possible.
Instruction* ElementAt(Rewriter& rewriter, Instruction* tuple, int64_t i) {
  if (tuple->opcode() == Opcode::kTuple) return tuple->operand(static_cast<int>(i));
  for (Instruction* user : tuple->users()) {
    if (user->opcode() == Opcode::kGetTupleElement && user->tuple_index() == i &&
        !user->has_control_edges())
      return user;
  }
  return rewriter.GetTupleElement(tuple, i);
}

// `part` stands for the elements `held` of what `whole` stands for.
void SetOriginOfPart(Instruction* part, const Instruction& whole, const std::vector<bool>& held) {
  const OriginalValue::Node* origin = OriginOf(whole);
  if (origin == nullptr || origin->children.size() != held.size()) return;
  OriginalValue::Node rest;
  rest.is_tuple = true;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i]) rest.children.push_back(origin->children[i]);
  }
  SetOrigin(part, &rest);
}

// barrier(a, b, unread)  =>  tuple(elements of barrier(a, b), unread)
// The readers then see the elements themselves.
Instruction* BarrierOfUnread(Instruction* barrier, Rewriter& rewriter) {
  if (barrier->is_root() || !barrier->shape().IsTuple() || !barrier->has_uses() ||
      barrier->sharding() != nullptr)
    return nullptr;
  for (const Use& use : barrier->uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) return nullptr;
  }
  const std::vector<bool> held = HeldElements(barrier);
  if (!Contains(held, false)) return nullptr;
  std::vector<Instruction*> elements, kept;
  for (size_t i = 0; i < held.size(); ++i) {
    elements.push_back(ElementAt(rewriter, barrier->operand(0), static_cast<int64_t>(i)));
    if (held[i]) kept.push_back(elements.back());
  }
  Instruction* smaller = rewriter.Op(Opcode::kOptimizationBarrier, {rewriter.Tuple(kept)});
  SetOriginOfPart(smaller, *barrier, held);
  SetOriginOfPart(smaller->operand(0), *barrier->operand(0), held);
  int64_t index = 0;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i]) elements[i] = rewriter.GetTupleElement(smaller, index++);
  }
  return rewriter.Tuple(elements);
}

constexpr Rule kCollectiveRules[] = {
    {"all-gather-of-splat", Opcode::kAllGather, kExact, GatherOfSplat},
    {"all-to-all-of-splat", Opcode::kAllToAll, kExact, ExchangeOfSplat},
    {"all-reduce-of-splat", Opcode::kAllReduce, kReassociate, ReduceOfSplat},
    {"reduce-scatter-of-splat", Opcode::kReduceScatter, kReassociate, ReduceOfSplat},
    {"barrier-of-unread", Opcode::kOptimizationBarrier, kExact, BarrierOfUnread},
};

}  // namespace

std::span<const Rule> CollectiveRules() { return kCollectiveRules; }

}  // namespace hlo::algsimp
