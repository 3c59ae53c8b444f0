// What programs say about devices: annotations, regions in which they see to the devices
// themselves, collectives and ids.
#include "absl/algorithm/container.h"
#include "lib/support/status.h"
#include "passes/spmd/rules.h"

namespace hlo {
namespace {

bool IsCallOf(const Instruction& call, std::string_view target) {
  return call.attrs<CustomCallAttrs>().custom_call_target == target;
}

// From here on, each device has what it has: under another shape, divided in another way.
absl::StatusOr<Parts> ChangeRegion(Partitioner& partitioner, const Instruction& old) {
  const Parts& parts = partitioner.parts(old.operand(0));
  if (!old.shape().IsArray() || old.sharding() == nullptr)
    return Error(old.loc(), "`{}` needs an array and a sharding", old.name());
  const Placement* placement = partitioner.wanted(0);
  const Shape tile = placement->TileShape(old.shape());
  if (!SameDimensions(tile, parts.value->shape())) {
    return Error(old.loc(),
                 "`{}`: a device has `{}` of the operand, but `{}` of the result as its sharding "
                 "divides it",
                 old.name(), parts.value->shape().WithoutLayout(), tile.WithoutLayout());
  }
  return partitioner.Made(partitioner.code().Op(Opcode::kCopy, {parts.value}), placement);
}

absl::StatusOr<Parts> DivideCustomCall(Partitioner& partitioner, const Instruction& old) {
  if (old.operand_count() != 1) return RunWhole(partitioner, old);
  if (IsCallOf(old, "Sharding")) return partitioner.parts(old.operand(0));
  if (IsCallOf(old, "SPMDFullToShardShape") || IsCallOf(old, "SPMDShardToFullShape"))
    return ChangeRegion(partitioner, old);
  return RunWhole(partitioner, old);
}

// Every device draws numbers of its own: those of the first one are everybody's.
absl::StatusOr<Parts> DrawOnce(Partitioner& partitioner, const Instruction& old) {
  ASSIGN_OR_RETURN(Parts parts, RunWhole(partitioner, old));
  parts.value = partitioner.code().FromFirst(parts.value, partitioner.regions()->Regions());
  return parts;
}

constexpr SpmdRow kDeviceRows[] = {
    {Opcode::kRng, DrawOnce},
    {Opcode::kCustomCall, DivideCustomCall},
};

}  // namespace

std::span<const SpmdRow> SpmdDeviceRows() { return kDeviceRows; }

}  // namespace hlo
