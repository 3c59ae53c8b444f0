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
         a.operand(0)->shape() == b.operand(0)->shape() && a.backend_config() == b.backend_config();
}

}  // namespace

absl::StatusOr<bool> AllGatherOptimizer::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kAllGather})) {
    for (Instruction* op : computation->PostOrder()) {
      if (!kTakenFirst.Has(op->opcode()) || !op->shape().IsArray()) continue;
      Instruction *a = op->operand(0), *b = op->operand(1);
      if (!IsGatheredFor(*a, *op) || !IsGatheredFor(*b, *op) ||
          !Compatible(op->shape(), a->shape()))
        continue;
      if (!GatherAlike(*a, *b)) {
        context.Missed(*op, "its operands are gathered in different ways");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*op, "computed before it is gathered");
      const uint32_t first_new = module.id_limit();
      Builder builder(op);
      Instruction* small = builder.OpWithShape(op->opcode(), a->operand(0)->shape(),
                                               {a->operand(0), b->operand(0)}, op->attrs_ptr());
      AllGatherAttrs attrs = a->attrs<AllGatherAttrs>();
      attrs.constrain_layout = false;
      Instruction* gather = builder.OpWithShape(Opcode::kAllGather, a->shape(), {small},
                                                AttrsPtr::Make(std::move(attrs)));
      RETURN_IF_ERROR(builder.status());
      PassOnBackendConfig(*a, gather);
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
