// Rules rooted at all-reduce and reduce-scatter, and for what optimization barriers hold back.
#include <algorithm>

#include "lib/analysis/region.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// The constant that a collective of one array gets in every element; null for others.
const Instruction* SplatOperand(const Instruction* op) {
  if (op->operand_count() != 1 || !op->shape().IsArray() || op->has_control_edges() ||
      op->operand(0)->opcode() != Opcode::kBroadcast || op->shape().has_dynamic_dims())
    return nullptr;
  const Instruction* scalar = op->operand(0)->operand(0);
  return scalar->IsConstant() && scalar->shape().IsScalar() && !scalar->literal().is_elided()
             ? scalar
             : nullptr;
}

const ReplicaGroups& GroupsOf(const Instruction* op) {
  return op->opcode() == Opcode::kAllReduce ? op->attrs<AllReduceAttrs>().replica_groups
                                            : op->attrs<ReduceScatterAttrs>().replica_groups;
}

// How many devices every group has, if the text says so.
std::optional<int64_t> GroupSize(const Instruction* op) {
  const ReplicaGroups::Lists groups = GroupsOf(op).Flatten();
  if (groups.empty()) return std::nullopt;
  for (const auto& group : groups) {
    if (group.size() != groups[0].size()) return std::nullopt;
  }
  return static_cast<int64_t>(groups[0].size());
}

// all-reduce(broadcast(c))  =>  broadcast(c) for max and min, broadcast(c * size of
//     the group) for sums
Instruction* ReduceOfSplat(Instruction* op, Rewriter& rewriter) {
  const Instruction* scalar = SplatOperand(op);
  if (scalar == nullptr) return nullptr;
  const std::optional<Opcode> opcode = CombinerOpcode(*op->to_apply());
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum)
    return rewriter.Broadcast(op->operand(0)->operand(0), op->shape().dims(), {});
  const ElementType type = scalar->shape().element_type();
  const std::optional<int64_t> size = GroupSize(op);
  if (opcode != Opcode::kAdd || !size || !(IsInteger(type) || IsFloat(type))) return nullptr;
  Literal total = scalar->literal();
  if (IsInteger(type)) {
    total.SetInt(0, static_cast<int64_t>(static_cast<uint64_t>(total.GetInt()) *
                                         static_cast<uint64_t>(*size)));
  } else {
    total.SetDouble(0, total.GetDouble() * static_cast<double>(*size));
  }
  return rewriter.Broadcast(rewriter.Constant(std::move(total)), op->shape().dims(), {});
}

// The elements of a barrier on a tuple that must stay: those that are read, and those that do
// something or that others read.
std::vector<Instruction*> HeldElements(const Instruction* barrier, DimVec& new_index) {
  const Instruction* tuple = barrier->operand(0);
  std::vector<bool> read(static_cast<size_t>(tuple->operand_count()), false);
  for (const Use& use : barrier->uses()) read[static_cast<size_t>(use.user->tuple_index())] = true;
  std::vector<Instruction*> held;
  for (int i = 0; i < tuple->operand_count(); ++i) {
    Instruction* element = tuple->operand(i);
    new_index.push_back(static_cast<int64_t>(held.size()));
    if (read[static_cast<size_t>(i)] || element->use_count() != 1 || element->is_root() ||
        element->HasSideEffect())
      held.push_back(element);
  }
  return held;
}

// A barrier on exactly these values, if there is one.
Instruction* BarrierOn(const std::vector<Instruction*>& values) {
  if (values.empty()) return nullptr;
  for (Instruction* tuple : values[0]->users()) {
    if (tuple->opcode() != Opcode::kTuple || tuple->operand_vector() != values) continue;
    for (Instruction* user : tuple->users()) {
      if (user->opcode() == Opcode::kOptimizationBarrier && !user->has_control_edges()) return user;
    }
  }
  return nullptr;
}

// get-tuple-element(barrier(a, b, unread), 1)  =>  get-tuple-element(barrier(a, b), 1)
// All readers of the barrier go to the same new one.
Instruction* ElementOfBarrier(Instruction* gte, Rewriter& rewriter) {
  Instruction* barrier = gte->operand(0);
  if (barrier->opcode() != Opcode::kOptimizationBarrier || barrier->is_root() ||
      barrier->operand(0)->opcode() != Opcode::kTuple || barrier->has_control_edges() ||
      barrier->sharding() != nullptr)
    return nullptr;
  for (const Use& use : barrier->uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) return nullptr;
  }
  DimVec new_index;
  const std::vector<Instruction*> held = HeldElements(barrier, new_index);
  if (static_cast<int>(held.size()) == barrier->operand(0)->operand_count()) return nullptr;
  Instruction* smaller = BarrierOn(held);
  if (smaller == nullptr)
    smaller = rewriter.Op(Opcode::kOptimizationBarrier, {rewriter.Tuple(held)});
  return rewriter.GetTupleElement(smaller, new_index[static_cast<size_t>(gte->tuple_index())]);
}

constexpr Rule kCollectiveRules[] = {
    {"all-reduce-of-splat", Opcode::kAllReduce, kReassociate, ReduceOfSplat},
    {"reduce-scatter-of-splat", Opcode::kReduceScatter, kReassociate, ReduceOfSplat},
    {"element-of-barrier", Opcode::kGetTupleElement, kExact, ElementOfBarrier},
};

}  // namespace

std::span<const Rule> CollectiveRules() { return kCollectiveRules; }

}  // namespace hlo::algsimp
