#include "passes/collectives/all_gather_to_collective_permute_simplifier.h"

#include <set>

#include "lib/analysis/device_groups.h"
#include "passes/collectives/gathered_part.h"

namespace hlo {
namespace {

// The gather that `slice` cuts, perhaps after a reshape to the same dimensions, where the slice is
// the first to read it.
const Instruction* GatherBefore(const Instruction& slice) {
  const Instruction* user = &slice;
  const Instruction* read = slice.operand(0);
  if (read->opcode() == Opcode::kReshape && read->has_one_user() &&
      SameDimensions(read->shape(), read->operand(0)->shape())) {
    user = read;
    read = read->operand(0);
  }
  return read->has_uses() && read->uses()[0].user == user ? read : nullptr;
}

// Who sends its part to whom; nothing where a device had to send to several, or where some device
// has no part in the gather.
std::optional<DevicePairs> OwnersOfParts(const Instruction& slice) {
  const std::optional<int64_t> dimension = CutDimension(slice);
  const Instruction* const gather = GatherBefore(slice);
  if (!dimension || gather == nullptr || !IsGatherOfPartitions(*gather, *dimension) ||
      !Compatible(slice.shape(), gather->operand(0)->shape()))
    return std::nullopt;
  const std::optional<std::vector<int64_t>> starts = StartsFromTable(slice, *dimension);
  const int64_t size = slice.shape().dim(static_cast<int>(*dimension));
  if (!starts || size == 0) return std::nullopt;
  DevicePairs pairs;
  std::set<int64_t> owners;
  for (const std::vector<int64_t>& group : DeviceGroups(*gather)) {
    for (const int64_t device : group) {
      const int64_t start = (*starts)[static_cast<size_t>(device)];
      const auto place = static_cast<size_t>(start / size);
      if (start % size != 0 || place >= group.size() || !owners.insert(group[place]).second)
        return std::nullopt;
      pairs.push_back({group[place], device});
    }
  }
  if (owners.size() != starts->size()) return std::nullopt;
  return pairs;
}

}  // namespace

bool AllGatherToCollectivePermuteSimplifier::Matches(const Instruction& slice) const {
  return OwnersOfParts(slice).has_value();
}

absl::StatusOr<Instruction*> AllGatherToCollectivePermuteSimplifier::Expand(Instruction* slice,
                                                                            Rewriter& rewriter) {
  const Instruction& gather = *GatherBefore(*slice);
  return SendPart(gather, *OwnersOfParts(*slice), *gather.attrs<AllGatherAttrs>().channel_id,
                  rewriter);
}

HLO_DEFINE_PASS(AllGatherToCollectivePermuteSimplifier)

}  // namespace hlo
