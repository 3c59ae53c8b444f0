// What programs say about devices: annotations, regions in which they see to the devices
// themselves, collectives and ids.
#include "absl/algorithm/container.h"
#include "lib/analysis/device_groups.h"
#include "lib/ir/custom_call.h"
#include "lib/support/status.h"
#include "passes/spmd/rules.h"
#include "passes/spmd/running_dims.h"
#include "passes/util/batched_call.h"

namespace hlo {
namespace {

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
  // The program sees what is beyond the end of the array: zeros.
  SpmdCode& code = partitioner.code();
  Instruction* value = parts.value;
  const Shape whole = old.operand(0)->shape();
  if (IsCustomCall(old, "SPMDFullToShardShape")) {
    for (int64_t d = 0; d < whole.rank(); ++d)
      value = code.Masked(value, *parts.leaves[0], whole, d, code.Zero(whole.element_type()));
  }
  return partitioner.Made(code.Op(Opcode::kCopy, {value}), placement);
}

// Calls that say where in memory a value is to be, not what it is.
bool IsPlacement(const Instruction& call) {
  return absl::c_any_of(
      std::initializer_list<std::string_view>{"MoveToHost", "MoveToDevice", "PinToDevice",
                                              "PinToDeviceSram", "annotate_device_placement"},
      [&](std::string_view target) { return IsCustomCall(call, target); });
}

// Every device computes its members of the batch.
absl::StatusOr<Parts> DivideBatch(Partitioner& partitioner, const Instruction& old, int64_t batch) {
  RunningOp op = RunsWhere(old, old.operand_count(), [&](int64_t d) { return d < batch; });
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    CustomCallAttrs attrs = old.attrs<CustomCallAttrs>();
    if (attrs.operand_layout_constraints.has_value()) {
      for (size_t i = 0; i < run.operands.size(); ++i) {
        Shape& shape = (*attrs.operand_layout_constraints)[i];
        shape = run.operands[i]->TileShape(shape);
      }
    }
    Instruction* call = p.Clone(old, part, std::move(operands));
    call->SetAttrs(std::move(attrs));
    return call;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

absl::StatusOr<Parts> DivideCustomCall(Partitioner& partitioner, const Instruction& old) {
  if (const int64_t batch = BatchDimsOfCall(old); batch > 0)
    return DivideBatch(partitioner, old, batch);
  if (old.operand_count() != 1) return RunWhole(partitioner, old);
  if (IsCustomCall(old, "Sharding")) return partitioner.parts(old.operand(0));
  if (IsCustomCall(old, "SPMDFullToShardShape") || IsCustomCall(old, "SPMDShardToFullShape"))
    return ChangeRegion(partitioner, old);
  if (IsCustomCall(old, "TopK")) return DivideTopK(partitioner, old);
  if (IsPlacement(old) && SameDimensions(old.shape(), old.operand(0)->shape())) {
    // As the operand is divided: nothing is put between them.
    const Parts& parts = partitioner.parts(old.operand(0));
    return Parts{partitioner.Clone(old, parts.value->shape(), {parts.value}), parts.leaves};
  }
  return RunWhole(partitioner, old);
}

// Whether the devices of each group have the same part of what `placement` divides.
bool HaveSameParts(const std::vector<int64_t>& group, const Placement& placement) {
  return absl::c_all_of(group, [&](int64_t device) {
    for (int64_t d = 0; d < placement.rank(); ++d) {
      if (placement.tile_of(device % placement.devices(), d) !=
          placement.tile_of(group[0] % placement.devices(), d))
        return false;
    }
    return true;
  });
}

// Collectives of replicas, or in a region: element by element, where those that take part have the
// same part.
absl::StatusOr<Parts> DivideCollective(Partitioner& partitioner, const Instruction& old) {
  if (!old.shape().IsArray()) return RunWhole(partitioner, old);
  const Placement& placement = *partitioner.wanted(0);
  std::vector<std::vector<int64_t>> groups;
  if (old.opcode() == Opcode::kCollectivePermute) {
    const auto& attrs = old.attrs<CollectivePermuteAttrs>();
    for (const auto& [source, target] : attrs.source_target_pairs) {
      if (attrs.channel_id.has_value()) groups.push_back({source, target});
    }
  } else if (GroupModeOf(old) != GroupMode::kCrossReplica) {
    groups = DeviceGroups(old);
  }
  const bool is_elementwise = absl::c_all_of(
      groups, [&](const std::vector<int64_t>& group) { return HaveSameParts(group, placement); });
  return is_elementwise ? DivideElementwise(partitioner, old) : RunWhole(partitioner, old);
}

// Every device draws numbers of its own: those of the first one are everybody's.
absl::StatusOr<Parts> DrawOnce(Partitioner& partitioner, const Instruction& old) {
  ASSIGN_OR_RETURN(Parts parts, RunWhole(partitioner, old));
  parts.value = partitioner.code().FromFirst(parts.value, partitioner.regions()->Regions());
  return parts;
}

constexpr SpmdRow kDeviceRows[] = {
    {Opcode::kRng, DrawOnce},
    {Opcode::kAllReduce, DivideCollective},
    {Opcode::kCollectiveBroadcast, DivideCollective},
    {Opcode::kCollectivePermute, DivideCollective},
    {Opcode::kCustomCall, DivideCustomCall},
};

}  // namespace

std::span<const SpmdRow> SpmdDeviceRows() { return kDeviceRows; }

}  // namespace hlo
