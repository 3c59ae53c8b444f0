#include "passes/collectives/all_gather_to_collective_permute_simplifier.h"

#include <set>

#include "passes/collectives/gathered_part.h"
#include "passes/collectives/own_part.h"

namespace hlo {
namespace {

// Who sends its part to whom, for each device that takes one; nothing where a device had to send to
// several, where some device has no part in the gather, or where all take their own.
std::optional<DevicePairs> OwnersOfParts(const Instruction& slice) {
  const std::optional<OwnPart> part = FindOwnPart(slice);
  const Instruction& gather = *slice.operand(0);
  if (!part || !IsGatherOfParts(gather, part->dimension) ||
      !Compatible(slice.shape(), gather.operand(0)->shape()))
    return std::nullopt;
  DevicePairs pairs;
  std::set<int64_t> owners;
  bool are_own = true;
  for (const std::vector<int64_t>& group : DeviceGroups(gather)) {
    for (const int64_t device : group) {
      const auto place = static_cast<size_t>(part->place_of_device[static_cast<size_t>(device)]);
      if (place >= group.size() || !owners.insert(group[place]).second) return std::nullopt;
      pairs.push_back({group[place], device});
      are_own = are_own && group[place] == device;
    }
  }
  if (are_own || owners.size() != part->place_of_device.size()) return std::nullopt;
  return pairs;
}

}  // namespace

bool AllGatherToCollectivePermuteSimplifier::Matches(const Instruction& slice) const {
  return OwnersOfParts(slice).has_value();
}

absl::StatusOr<Instruction*> AllGatherToCollectivePermuteSimplifier::Expand(Instruction* slice,
                                                                            Rewriter& rewriter) {
  return SendPart(*slice->operand(0), *OwnersOfParts(*slice), rewriter);
}

HLO_DEFINE_PASS(AllGatherToCollectivePermuteSimplifier)

}  // namespace hlo
