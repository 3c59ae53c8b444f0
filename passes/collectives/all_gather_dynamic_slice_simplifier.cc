#include "passes/collectives/all_gather_dynamic_slice_simplifier.h"

#include "passes/collectives/own_part.h"

namespace hlo {

bool AllGatherDynamicSliceSimplifier::Matches(const Instruction& slice) const {
  const Instruction& read = *slice.operand(0);
  const Instruction& gather = *BeforeOwnReshape(slice.operand(0));
  if (gather.opcode() != Opcode::kAllGather || !gather.shape().IsArray() ||
      gather.attrs<AllGatherAttrs>().constrain_layout ||
      (!options_.allow_multiple_users && !gather.has_one_user()) ||
      (!options_.allow_intervening_reshape && &read != &gather) ||
      gather.shape().rank() - absl::c_count(gather.shape().dims(), 1) < options_.min_rank)
    return false;
  const std::optional<OwnPart> part = FindOwnPart(slice);
  if (!part) return false;
  const int64_t dim = gather.attrs<AllGatherAttrs>().dimensions.value;
  const bool is_reshaped = &read != &gather;
  if (is_reshaped
          ? DimensionBeforeReshape(read, part->dimension) != dim ||
                gather.operand(0)->shape().dim(static_cast<int>(dim)) != part->size
          : part->dimension != dim || !Compatible(slice.shape(), gather.operand(0)->shape()))
    return false;
  return TakesPartsInOrder(*part, DeviceGroups(gather), gather.shape().dim(static_cast<int>(dim)));
}

absl::StatusOr<Instruction*> AllGatherDynamicSliceSimplifier::Expand(Instruction* slice,
                                                                     Rewriter& rewriter) {
  Instruction* const gather = BeforeOwnReshape(slice->operand(0));
  if (gather == slice->operand(0)) return gather->operand(0);
  return rewriter.Reshape(gather->operand(0), slice->shape().dims());
}

HLO_DEFINE_PASS(AllGatherDynamicSliceSimplifier)

}  // namespace hlo
