#include "passes/collectives/all_reduce_reassociate.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "passes/rewrite.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

constexpr OpcodeSet kCombine = {Opcode::kAdd,     Opcode::kMultiply, Opcode::kMaximum,
                                Opcode::kMinimum, Opcode::kAnd,      Opcode::kOr};
constexpr OpcodeSet kBetween = {Opcode::kReshape, Opcode::kSlice, Opcode::kPad, Opcode::kConvert};

bool IsReadOnce(const Instruction& value) {
  return value.has_one_user() && !value.is_root() && !value.has_control_edges();
}

bool AreAlike(const Instruction& a, const Instruction& b) {
  AllReduceAttrs mine = a.attrs<AllReduceAttrs>();
  const auto& other = b.attrs<AllReduceAttrs>();
  if (mine.channel_id.has_value() != other.channel_id.has_value()) return false;
  mine.channel_id = other.channel_id;
  return AttrsPtr::Make(std::move(mine)) == b.attrs_ptr() &&
         a.shape().element_type() == b.shape().element_type();
}

bool ConstrainsLayouts(const Module& module) {
  for (const Computation* computation : module.computations()) {
    if (!computation->MayHold(Opcode::kAllReduce)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kAllReduce &&
          instruction->attrs<AllReduceAttrs>().constrain_layout)
        return true;
    }
  }
  return false;
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
        (opcode == Opcode::kConvert && !options_.reassociate_converted_ar) ||
        (opcode == Opcode::kPad && !IsIdentityOf(combine, *value->operand(1))))
      return nullptr;
  }
  if (!IsReadOnce(*value) || value->operand_count() != 1 ||
      CombinerOpcode(*value->to_apply()) != combine)
    return nullptr;
  return value;
}

absl::StatusOr<bool> AllReduceReassociate::Run(Module& module, PassContext& context) {
  if (ConstrainsLayouts(module)) return false;
  int64_t next_channel = NextChannelId(module);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kAllReduce})) {
    for (Instruction* op : computation->PostOrder()) {
      if (op->is_dead() || !kCombine.Has(op->opcode()) || !op->shape().IsArray()) continue;
      Instruction* a = AllReduceBelow(op->operand(0), op->opcode());
      Instruction* b = a == nullptr ? nullptr : AllReduceBelow(op->operand(1), op->opcode());
      if (b == nullptr) continue;
      if (!AreAlike(*a, *b)) {
        context.Missed(*op, "its operands are reduced in different ways");
        continue;
      }
      if (op->shape().element_count() > a->shape().element_count() + b->shape().element_count()) {
        context.Missed(*op, "more elements would be reduced");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*op, "combined before the devices reduce");
      const uint32_t first_new = module.id_limit();
      Builder builder(computation);
      builder.set_origin(a);
      Instruction* combined = computation->AddClone(*op, op->shape(), op->operand_vector());
      const ElementType type = op->shape().element_type();
      Computation* combiner = type == a->shape().element_type()
                                  ? a->to_apply()
                                  : ScalarComputation(module, op->opcode(), type);
      Instruction* reduced = builder.OpWithShape(Opcode::kAllReduce, op->shape(), {combined},
                                                 a->attrs_ptr(), {combiner});
      RETURN_IF_ERROR(builder.status());
      if (ReplaceChannelId(reduced, next_channel)) ++next_channel;
      ReplaceKeepingExtras(op, reduced, first_new);
      PassBy(a);
      if (b != a) PassBy(b);
      context.Count("reassociated");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AllReduceReassociate)

}  // namespace hlo
