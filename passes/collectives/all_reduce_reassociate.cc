#include "passes/collectives/all_reduce_reassociate.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "passes/rewrite.h"
#include "passes/util/constrained_layout.h"
#include "passes/util/holds_every.h"
#include "passes/util/lossless_convert.h"

namespace hlo {
namespace {

constexpr OpcodeSet kCombine = {Opcode::kAdd,     Opcode::kMultiply, Opcode::kMaximum,
                                Opcode::kMinimum, Opcode::kAnd,      Opcode::kOr};
constexpr OpcodeSet kBetween = {Opcode::kReshape, Opcode::kSlice, Opcode::kPad, Opcode::kConvert};

// Bits of integers are none that all-reduces combine, for XLA.
bool IsCombination(const Instruction& op) {
  const Opcode opcode = op.opcode();
  return kCombine.Has(opcode) && op.shape().IsArray() &&
         ((opcode != Opcode::kAnd && opcode != Opcode::kOr) || IsPred(op.shape().element_type()));
}

bool IsReadOnce(const Instruction& value) {
  return value.has_one_user() && !value.is_root() && !value.has_control_edges();
}

bool AreAlike(const Instruction& a, const Instruction& b) {
  AllReduceAttrs mine = a.attrs<AllReduceAttrs>();
  const auto& other = b.attrs<AllReduceAttrs>();
  if (mine.channel_id.has_value() != other.channel_id.has_value()) return false;
  mine.channel_id = other.channel_id;
  return AttrsPtr::Make(std::move(mine)) == b.attrs_ptr();
}

// Whether `slice` takes a part of what devices combine by `combine`, and nothing else reads either.
bool TakesPartOfReduce(const Instruction& slice, Opcode combine) {
  if (slice.opcode() != Opcode::kDynamicSlice || !IsReadOnce(slice)) return false;
  const Instruction& reduce = *slice.operand(0);
  return reduce.opcode() == Opcode::kAllReduce && reduce.operand_count() == 1 &&
         IsReadOnce(reduce) && CombinerOpcode(*reduce.to_apply()) == combine;
}

// Whether both take the same part of arrays that are reduced in the same way.
bool TakeTheSamePart(const Instruction& a, const Instruction& b) {
  const Instruction &x = *a.operand(0), &y = *b.operand(0);
  const std::vector<Instruction*> mine = a.operand_vector(), others = b.operand_vector();
  return a.attrs_ptr() == b.attrs_ptr() && x.shape() == y.shape() &&
         std::equal(mine.begin() + 1, mine.end(), others.begin() + 1, others.end()) &&
         AreAlike(x, y);
}

// Puts what it reduces in the place of an all-reduce that nobody else needs.
void PassBy(Instruction* reduce) {
  reduce->ReplaceAllUsesWith(reduce->operand(0));
  reduce->parent()->Remove(reduce);
}

}  // namespace

// The all-reduce by `combine` whose result, in another form, is `value` and nothing else.
Instruction* AllReduceReassociate::AllReduceBelow(Instruction* value, Opcode combine) const {
  for (; value->opcode() != Opcode::kAllReduce; value = value->operand(0)) {
    const Opcode opcode = value->opcode();
    if (!IsReadOnce(*value) || !kBetween.Has(opcode) ||
        (opcode == Opcode::kConvert &&
         (!options_.reassociate_converted_ar ||
          !HoldsEvery(value->shape().element_type(), value->operand(0)->shape().element_type()))) ||
        (opcode == Opcode::kPad && !IsIdentityOf(combine, *value->operand(1))))
      return nullptr;
  }
  if (!IsReadOnce(*value) || value->operand_count() != 1 ||
      CombinerOpcode(*value->to_apply()) != combine)
    return nullptr;
  return value;
}

Decision AllReduceReassociate::MayCombine(const Instruction& op, const Instruction& a,
                                          const Instruction& b) const {
  if (!AreAlike(a, b)) return No("its operands are reduced in different ways");
  const ElementType type = op.shape().element_type();
  const ElementType first = a.shape().element_type(), second = b.shape().element_type();
  // Two conversions must be the same, or one operand needs none.
  if (first != second && first != type && second != type)
    return No("its operands are reduced in different types");
  const int64_t before = a.shape().element_count() + (&a == &b ? 0 : b.shape().element_count());
  if (op.shape().element_count() > before) return No("more elements would be reduced");
  return Yes();
}

// op(all-reduce(x), all-reduce(y))  =>  all-reduce(op(x, y))
absl::StatusOr<bool> AllReduceReassociate::Reassociate(Instruction* op, PassContext& context) {
  Instruction* a = AllReduceBelow(op->operand(0), op->opcode());
  Instruction* b = a == nullptr ? nullptr : AllReduceBelow(op->operand(1), op->opcode());
  if (b == nullptr) return false;
  if (!context.Allowed(*op, MayCombine(*op, *a, *b))) return false;
  if (!context.MayRewrite()) return false;
  context.Passed(*op, "combined before the devices reduce");
  Computation* const computation = op->parent();
  Module& module = computation->module();
  const uint32_t first_new = module.id_limit();
  Builder builder(computation, a);
  Instruction* combined = computation->AddClone(*op, op->shape(), op->operand_vector());
  const ElementType type = op->shape().element_type();
  Computation* combiner = type == a->shape().element_type()
                              ? a->to_apply()
                              : ScalarComputation(module, op->opcode(), type);
  Instruction* reduced =
      builder.OpWithShape(Opcode::kAllReduce, op->shape(), {combined}, a->attrs_ptr(), {combiner});
  RETURN_IF_ERROR(builder.status());
  PassOnWork(*a, reduced);
  ReplaceKeepingExtras(op, reduced, first_new);
  PassBy(a);
  if (b != a) PassBy(b);
  return true;
}

// op(dynamic-slice(all-reduce(x)), dynamic-slice(all-reduce(y)))
//     =>  dynamic-slice(all-reduce(op(x, y)))
absl::StatusOr<bool> AllReduceReassociate::ReassociateParts(Instruction* op, PassContext& context) {
  Instruction *const part = op->operand(0), *const other = op->operand(1);
  if (!TakesPartOfReduce(*part, op->opcode()) || !TakesPartOfReduce(*other, op->opcode()))
    return false;
  if (!TakeTheSamePart(*part, *other)) {
    context.Missed(*op, "its operands are different parts, or are reduced in different ways");
    return false;
  }
  if (!context.MayRewrite()) return false;
  context.Passed(*op, "combined before the devices reduce");
  Computation* const computation = op->parent();
  const uint32_t first_new = computation->module().id_limit();
  Instruction *const a = part->operand(0), *const b = other->operand(0);
  Instruction* combined = computation->AddClone(*op, a->shape(), {a->operand(0), b->operand(0)});
  combined->clear_sharding();
  Instruction* reduced = computation->AddClone(*a, a->shape(), {combined});
  std::vector<Instruction*> operands = part->operand_vector();
  operands[0] = reduced;
  ReplaceKeepingExtras(op, computation->AddClone(*part, op->shape(), operands), first_new);
  for (Instruction* old : {part, other, a, b}) {
    if (!old->is_dead()) computation->Remove(old);
  }
  return true;
}

absl::StatusOr<bool> AllReduceReassociate::Run(Module& module, PassContext& context) {
  if (AnyConstrainsLayout(module, Opcode::kAllReduce)) return false;
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kAllReduce})) {
    for (Instruction* op : computation->PostOrder()) {
      if (op->is_dead() || !IsCombination(*op)) continue;
      ASSIGN_OR_RETURN(bool moved, ReassociateParts(op, context));
      if (!moved) {
        ASSIGN_OR_RETURN(moved, Reassociate(op, context));
      }
      if (moved) context.Count("reassociated");
      changed |= moved;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AllReduceReassociate)

}  // namespace hlo
