// Rules rooted at all-reduce and reduce-scatter, and for what optimization barriers hold back.
#include <algorithm>

#include "lib/analysis/device_groups.h"
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

// Whether combining any number of equal values gives that value.
bool Chooses(std::optional<Opcode> opcode, ElementType type) {
  return opcode == Opcode::kMaximum || opcode == Opcode::kMinimum ||
         (type == ElementType::kPred && (opcode == Opcode::kAnd || opcode == Opcode::kOr));
}

// all-reduce(broadcast(c))  =>  broadcast(c) for max and min, broadcast(c * size of
//     the group) for sums
Instruction* ReduceOfSplat(Instruction* op, Rewriter& rewriter) {
  const Instruction* scalar = SplatOperand(op);
  if (scalar == nullptr) return nullptr;
  const ElementType type = scalar->shape().element_type();
  const std::optional<Opcode> opcode = CombinerOpcode(*op->to_apply());
  if (Chooses(opcode, type)) return BroadcastLike(rewriter, op->operand(0)->operand(0), op);
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

// Which elements of a barrier must stay: those that are read, tokens, and of a tuple made here
// those that do something or that others read.
DimVec HeldElements(const Instruction* barrier) {
  const Instruction* source = barrier->operand(0);
  const auto elements = barrier->shape().elements();
  std::vector<bool> read(elements.size(), false);
  for (const Use& use : barrier->uses()) read[static_cast<size_t>(use.user->tuple_index())] = true;
  DimVec held;
  for (size_t i = 0; i < elements.size(); ++i) {
    bool holds = read[i] || elements[i].IsToken();
    if (source->opcode() == Opcode::kTuple) {
      const Instruction* element = source->operand(static_cast<int>(i));
      holds = holds || !element->has_one_user() || element->is_root() || element->HasSideEffect();
    }
    if (holds) held.push_back(static_cast<int64_t>(i));
  }
  return held;
}

bool IsBarrier(const Instruction* x) {
  return x->opcode() == Opcode::kOptimizationBarrier && !x->has_control_edges();
}

// A barrier on exactly these values, if there is one.
Instruction* BarrierOn(const std::vector<Instruction*>& values) {
  for (Instruction* tuple : values[0]->users()) {
    if (tuple->opcode() != Opcode::kTuple || tuple->operand_vector() != values) continue;
    for (Instruction* user : tuple->users()) {
      if (IsBarrier(user)) return user;
    }
  }
  return nullptr;
}

bool IsElementOf(const Instruction* x, const Instruction* source) {
  return x->opcode() == Opcode::kGetTupleElement && x->operand(0) == source;
}

// A barrier on elements of `source` alone, that of `index` among them, if there is one.
Instruction* BarrierOnElements(Instruction* source, int64_t index) {
  for (Instruction* element : source->users()) {
    if (!IsElementOf(element, source) || element->tuple_index() != index) continue;
    for (Instruction* tuple : element->users()) {
      const auto& elements = tuple->operand_vector();
      if (tuple->opcode() != Opcode::kTuple ||
          !std::all_of(elements.begin(), elements.end(),
                       [&](const Instruction* x) { return IsElementOf(x, source); }))
        continue;
      for (Instruction* user : tuple->users()) {
        if (IsBarrier(user)) return user;
      }
    }
  }
  return nullptr;
}

// A barrier on the elements `held` of `source`, a tuple made here.
Instruction* BarrierOnParts(Instruction* source, const DimVec& held, Rewriter& rewriter) {
  std::vector<Instruction*> values;
  for (const int64_t i : held) values.push_back(source->operand(static_cast<int>(i)));
  Instruction* smaller = BarrierOn(values);
  if (smaller != nullptr) return smaller;
  return rewriter.Op(Opcode::kOptimizationBarrier, {rewriter.Tuple(values)});
}

// The same of a tuple that comes as it is, for its element `index`: it is taken apart.
Instruction* BarrierOnWhole(Instruction* source, const DimVec& held, int64_t index,
                            Rewriter& rewriter) {
  Instruction* smaller = BarrierOnElements(source, index);
  if (smaller != nullptr) return smaller;
  std::vector<Instruction*> values;
  for (const int64_t i : held) values.push_back(rewriter.GetTupleElement(source, i));
  return rewriter.Op(Opcode::kOptimizationBarrier, {rewriter.Tuple(values)});
}

// get-tuple-element(barrier(a, b, unread), 1)  =>  get-tuple-element(barrier(a, b), 1)
// All readers of the barrier go to the same new one.
Instruction* ElementOfBarrier(Instruction* gte, Rewriter& rewriter) {
  Instruction* barrier = gte->operand(0);
  if (!IsBarrier(barrier) || barrier->is_root() || barrier->sharding() != nullptr) return nullptr;
  for (const Use& use : barrier->uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) return nullptr;
  }
  const DimVec held = HeldElements(barrier);
  if (held.size() == barrier->shape().elements().size()) return nullptr;
  Instruction* source = barrier->operand(0);
  const int64_t index = gte->tuple_index();
  if (source->opcode() == Opcode::kTuple) {
    const auto place = std::find(held.begin(), held.end(), index) - held.begin();
    return rewriter.GetTupleElement(BarrierOnParts(source, held, rewriter), place);
  }
  Instruction* smaller = BarrierOnWhole(source, held, index, rewriter);
  const Instruction* tuple = smaller->operand(0);
  int place = 0;
  while (tuple->operand(place)->tuple_index() != index) ++place;
  return rewriter.GetTupleElement(smaller, place);
}

constexpr Rule kCollectiveRules[] = {
    {"all-reduce-of-splat", Opcode::kAllReduce, kReassociate, ReduceOfSplat},
    {"reduce-scatter-of-splat", Opcode::kReduceScatter, kReassociate, ReduceOfSplat},
    {"element-of-barrier", Opcode::kGetTupleElement, kExact, ElementOfBarrier},
};

}  // namespace

std::span<const Rule> CollectiveRules() { return kCollectiveRules; }

}  // namespace hlo::algsimp
