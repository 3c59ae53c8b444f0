// Rules rooted at get-tuple-element, map, sort, copy and custom-call.
#include <algorithm>

#include "lib/ir/custom_call.h"
#include "passes/algsimp/rules.h"
#include "passes/util/loop_state.h"

namespace hlo::algsimp {
namespace {

// get-tuple-element(tuple(…, x, …))  =>  x
Instruction* ElementOfTuple(Instruction* gte, Rewriter&) {
  Instruction* tuple = gte->operand(0);
  if (tuple->opcode() != Opcode::kTuple) return nullptr;
  Instruction* const element = tuple->operand(static_cast<int>(gte->tuple_index()));
  return MayPassBy(*tuple, *element) ? element : nullptr;
}

// A sort of at most one element per row  =>  its operands
Instruction* SortOfOne(Instruction* sort, Rewriter& rewriter) {
  const Shape shape = sort->operand(0)->shape();
  const auto dim = static_cast<int>(sort->attrs<SortAttrs>().dimensions.value);
  if (shape.dim(dim) > 1 && !shape.IsZeroSized()) return nullptr;
  if (!sort->shape().IsTuple()) return sort->operand(0);
  return rewriter.Tuple(sort->operand_vector());
}

// map of one operation on parameters  =>  the operation; of a parameter  =>  the operand
Instruction* MapOfOne(Instruction* map, Rewriter& rewriter) {
  const Instruction* root = map->to_apply()->root();
  if (root->opcode() == Opcode::kParameter) {
    Instruction* operand = map->operand(static_cast<int>(root->parameter_number()));
    return Compatible(operand->shape(), map->shape()) ? operand : nullptr;
  }
  if (root->IsConstant()) return BroadcastLike(rewriter, rewriter.Constant(root->literal()), map);
  if (!HasTrait(root->opcode(), kElementwise) || root->operand_count() == 0) return nullptr;
  std::vector<Instruction*> operands;
  for (const Instruction* operand : root->operands()) {
    if (operand->opcode() != Opcode::kParameter) return nullptr;
    operands.push_back(map->operand(static_cast<int>(operand->parameter_number())));
  }
  return rewriter.OpWithShape(root->opcode(), map->shape(), operands, root->attrs_ptr());
}

// copy(copy(x))  =>  copy(x), or x;  copy(x) of the same layout  =>  x
Instruction* CopyOfCopy(Instruction* copy, Rewriter& rewriter) {
  Instruction* x = copy->operand(0);
  if (x->opcode() != Opcode::kCopy) return nullptr;
  x = x->operand(0);
  if (x->shape() == copy->shape()) return x;
  return rewriter.OpWithShape(Opcode::kCopy, copy->shape(), {x});
}
Instruction* CopyToSame(Instruction* copy, Rewriter&) {
  if (copy->is_root() && copy->parent()->is_entry() && copy->sharding() != nullptr) return nullptr;
  return copy->operand(0)->shape() == copy->shape() ? copy->operand(0) : nullptr;
}

// SliceToDynamic(elements of PadToStatic(x))  =>  x
Instruction* DynamicRoundTrip(Instruction* call, Rewriter&) {
  if (!IsCustomCall(*call, "SliceToDynamic") || call->operand_count() == 0) return nullptr;
  const Instruction* padded = nullptr;
  for (int i = 0; i < call->operand_count(); ++i) {
    const Instruction* element = call->operand(i);
    if (element->opcode() != Opcode::kGetTupleElement || element->tuple_index() != i)
      return nullptr;
    if (padded != nullptr && element->operand(0) != padded) return nullptr;
    padded = element->operand(0);
  }
  if (!IsCustomCall(*padded, "PadToStatic") || padded->operand_count() != 1) return nullptr;
  return padded->operand(0)->shape() == call->shape() ? padded->operand(0) : nullptr;
}

constexpr Rule kStructureRules[] = {
    {"element-of-tuple", Opcode::kGetTupleElement, kExact, ElementOfTuple},
    {"sort-of-one", Opcode::kSort, kExact, SortOfOne},
    {"map-of-one", Opcode::kMap, kExact, MapOfOne},
    {"copy-of-copy", Opcode::kCopy, kExact, CopyOfCopy},
    {"copy-to-same", Opcode::kCopy, kExact, CopyToSame},
    {"dynamic-round-trip", Opcode::kCustomCall, kExact, DynamicRoundTrip},
};

}  // namespace

std::span<const Rule> StructureRules() { return kStructureRules; }

}  // namespace hlo::algsimp
