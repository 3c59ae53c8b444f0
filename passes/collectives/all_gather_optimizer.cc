#include "passes/collectives/all_gather_optimizer.h"

#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kTakenFirst = {Opcode::kAdd,     Opcode::kMultiply, Opcode::kMaximum,
                                   Opcode::kMinimum, Opcode::kAnd,      Opcode::kOr,
                                   Opcode::kXor};

bool IsGatheredFor(const Instruction& gather, const Instruction& op) {
  return gather.opcode() == Opcode::kAllGather && gather.shape().IsArray() &&
         gather.has_one_user() && gather.uses()[0].user == &op && !gather.is_root() &&
         !gather.has_control_edges();
}

bool GatherAlike(const Instruction& a, const Instruction& b) {
  AllGatherAttrs mine = a.attrs<AllGatherAttrs>();
  const auto& other = b.attrs<AllGatherAttrs>();
  if (mine.channel_id.has_value() != other.channel_id.has_value()) return false;
  mine.channel_id = other.channel_id;
  return AttrsPtr::Make(std::move(mine)) == b.attrs_ptr() &&
         SameDimensions(a.operand(0)->shape(), b.operand(0)->shape());
}

}  // namespace

absl::StatusOr<bool> AllGatherOptimizer::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kAllGather})) {
    for (Instruction* op : computation->PostOrder()) {
      if (!kTakenFirst.Has(op->opcode()) || !op->shape().IsArray()) continue;
      Instruction *a = op->operand(0), *b = op->operand(1);
      if (!IsGatheredFor(*a, *op) || !IsGatheredFor(*b, *op)) continue;
      if (!GatherAlike(*a, *b)) {
        context.Missed(*op, "its operands are gathered in different ways");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*op, "computed before it is gathered");
      const uint32_t first_new = module.id_limit();
      const Shape part = a->operand(0)->shape().WithElementType(op->shape().element_type());
      Instruction* small = computation->AddClone(*op, part, {a->operand(0), b->operand(0)});
      small->clear_sharding();
      Instruction* gather = computation->AddClone(*a, op->shape(), {small});
      ReplaceKeepingExtras(op, gather, first_new);
      for (Instruction* old : {a, b}) {
        if (!old->is_dead()) computation->RemoveUnused(old);
      }
      context.Count("reordered");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AllGatherOptimizer)

}  // namespace hlo
