#include "passes/collectives/all_gather_dynamic_slice_simplifier.h"

#include "passes/collectives/own_part.h"

namespace hlo {

bool AllGatherDynamicSliceSimplifier::Matches(const Instruction& slice) const {
  const Instruction& gather = *slice.operand(0);
  if (gather.opcode() != Opcode::kAllGather || !gather.shape().IsArray() ||
      !Compatible(slice.shape(), gather.operand(0)->shape()))
    return false;
  const int64_t dim = gather.attrs<AllGatherAttrs>().dimensions.value;
  const std::optional<OwnPart> part = FindOwnPart(slice);
  return part && part->dimension == dim &&
         TakesPartsInOrder(*part, DeviceGroups(gather), gather.shape().dim(static_cast<int>(dim)));
}

absl::StatusOr<Instruction*> AllGatherDynamicSliceSimplifier::Expand(Instruction* slice,
                                                                     Rewriter&) {
  return slice->operand(0)->operand(0);
}

HLO_DEFINE_PASS(AllGatherDynamicSliceSimplifier)

}  // namespace hlo
