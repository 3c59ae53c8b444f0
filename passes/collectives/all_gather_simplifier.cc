#include "passes/collectives/all_gather_simplifier.h"

#include "passes/collectives/own_part.h"

namespace hlo {
namespace {

// all-gather(x) of the shape of x  =>  x
Instruction* GatherOfNothing(Instruction* gather, Rewriter&) {
  const bool is_whole =
      gather->shape().IsArray() && Compatible(gather->shape(), gather->operand(0)->shape());
  return is_whole ? gather->operand(0) : nullptr;
}

// dynamic-slice(all-gather(x), own place)  =>  x
Instruction* OwnPartOfGather(Instruction* slice, Rewriter& rewriter) {
  Instruction* const gather = slice->operand(0);
  if (gather->opcode() != Opcode::kAllGather || !gather->shape().IsArray()) return nullptr;
  const int64_t dim = gather->attrs<AllGatherAttrs>().dimensions.value;
  if (!gather->has_one_user() || gather->is_root() ||
      gather->attrs<AllGatherAttrs>().constrain_layout ||
      !Compatible(slice->shape(), gather->operand(0)->shape()))
    return nullptr;
  const std::optional<OwnPart> part = FindOwnPart(*slice);
  if (!part || part->dimension != dim ||
      !TakesPartsInOrder(*part, DeviceGroups(*gather),
                         gather->shape().dim(static_cast<int>(dim)))) {
    rewriter.context().Missed(*gather, "the part that is read is not the own one");
    return nullptr;
  }
  return gather->operand(0);
}

constexpr Rule kKnownGatherRules[] = {
    {"gather-of-all", Opcode::kAllGather, kExact, GatherOfNothing},
    {"own-part-of-gather", Opcode::kDynamicSlice, kExact, OwnPartOfGather},
};

}  // namespace

AllGatherSimplifier::AllGatherSimplifier() : CollectiveRewritePass(this, kKnownGatherRules) {}

HLO_DEFINE_PASS(AllGatherSimplifier)

}  // namespace hlo
