#include "passes/collectives/reduce_scatter_creator.h"

#include "passes/collectives/own_part.h"
#include "passes/collectives/unused_collectives.h"

namespace hlo {
namespace {

// dynamic-slice(all-reduce(x), own place)  =>  reduce-scatter(x)
Instruction* ScatterInstead(Instruction* slice, Rewriter& rewriter) {
  Instruction* const reduce = slice->operand(0);
  if (reduce->opcode() != Opcode::kAllReduce || !reduce->shape().IsArray()) return nullptr;
  PassContext& context = rewriter.context();
  if (!reduce->has_one_user() || reduce->is_root()) {
    context.Missed(*reduce, "not only a part of it is read");
    return nullptr;
  }
  const std::optional<OwnPart> part = FindOwnPart(*slice);
  if (!part || !TakesPartsInOrder(*part, DeviceGroups(*reduce),
                                  reduce->shape().dim(static_cast<int>(part->dimension)))) {
    context.Missed(*reduce, "the part that is read is not the one at the place of the device");
    return nullptr;
  }
  const auto& from = reduce->attrs<AllReduceAttrs>();
  ReduceScatterAttrs attrs;
  attrs.channel_id = from.channel_id;
  attrs.replica_groups = from.replica_groups;
  attrs.constrain_layout = from.constrain_layout;
  attrs.use_global_device_ids = from.use_global_device_ids;
  attrs.dimensions.value = part->dimension;
  rewriter.set_origin(reduce);
  return rewriter.OpWithShape(Opcode::kReduceScatter, slice->shape(), {reduce->operand(0)},
                              AttrsPtr::Make(std::move(attrs)), {reduce->to_apply()});
}

constexpr Rule kScatterRules[] = {
    {"scatter-instead", Opcode::kDynamicSlice, kExact, ScatterInstead}};

}  // namespace

ReduceScatterCreator::ReduceScatterCreator() : RewritePass(this, kScatterRules) {}

absl::StatusOr<bool> ReduceScatterCreator::Run(Module& module, PassContext& context) {
  const UnusedCollectives unused(module);
  ASSIGN_OR_RETURN(const bool changed, RewritePass::Run(module, context));
  if (changed) unused.RemoveOthers(module);
  return changed;
}

HLO_DEFINE_PASS(ReduceScatterCreator)

}  // namespace hlo
