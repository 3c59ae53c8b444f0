#include "passes/spmd/spmd_code.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "lib/analysis/region.h"
#include "passes/util/channels.h"
#include "passes/util/union_of_parts.h"

namespace hlo {
namespace {

bool AreSingle(const GroupsOfDevices& groups) {
  return absl::c_all_of(groups, [](const auto& group) { return group.size() == 1; });
}

}  // namespace

SpmdState::SpmdState(Module& module, int64_t partitions)
    : module_(module), partitions_(partitions), next_channel_(NextChannelId(module)) {}

Instruction* SpmdCode::Table(const std::vector<int64_t>& values) {
  Instruction*& entry = tables_[values];
  if (entry != nullptr) return entry;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const bool fits =
      *least >= std::numeric_limits<int32_t>::min() && *most <= std::numeric_limits<int32_t>::max();
  const ElementType type = fits ? ElementType::kS32 : ElementType::kS64;
  if (*least == *most) return entry = Constant(Literal::Scalar(type, *least));
  if (partition_id_ == nullptr)
    partition_id_ = OpWithShape(Opcode::kPartitionId, Shape::Scalar(ElementType::kU32), {});
  Literal table(Shape::Array(type, {static_cast<int64_t>(values.size())}).WithDefaultLayout());
  for (size_t i = 0; i < values.size(); ++i) table.SetInt(static_cast<int64_t>(i), values[i]);
  return entry = Reshape(DynamicSlice(Constant(std::move(table)), {partition_id_}, {1}), {});
}

Instruction* SpmdCode::TileStart(const Placement& placement, Shape whole, int64_t d) {
  std::vector<int64_t> starts;
  for (int64_t device = 0; device < placement.devices(); ++device)
    starts.push_back(placement.tile_of(device, d) * placement.TileSize(whole, d));
  return Table(starts);
}

Instruction* SpmdCode::Masked(Instruction* tile, const Placement& placement, Shape whole, int64_t d,
                              Instruction* fill) {
  if (!placement.IsUneven(whole, d)) return tile;
  // How many elements of the tile are there.
  const int64_t size = placement.TileSize(whole, d);
  std::vector<int64_t> counts;
  for (int64_t device = 0; device < placement.devices(); ++device) {
    const int64_t start = placement.tile_of(device, d) * size;
    counts.push_back(std::clamp<int64_t>(whole.dim(static_cast<int>(d)) - start, 0, size));
  }
  Instruction* count = Table(counts);
  const Shape shape = tile->shape();
  const Shape numbers = Shape::Array(count->shape().element_type(), shape.dims());
  Instruction* is_there =
      Compare(Iota(numbers, d), Filled(numbers, count), ComparisonDirection::kLt);
  return Select(is_there, tile, Filled(shape, fill));
}

Instruction* SpmdCode::Resized(Instruction* x, int64_t d, int64_t size) {
  const int64_t now = x->shape().dim(static_cast<int>(d));
  if (now == size) return x;
  const DimVec dims(x->shape().dims().begin(), x->shape().dims().end());
  if (size < now) {
    DimVec limits = dims;
    limits[static_cast<size_t>(d)] = size;
    return Slice(x, DimVec(dims.size(), 0), limits);
  }
  PaddingConfig padding;
  padding.dims.resize(dims.size());
  padding.dims[static_cast<size_t>(d)].high = size - now;
  return Pad(x, Zero(x->shape().element_type()), padding);
}

Instruction* SpmdCode::Zero(ElementType type) { return Constant(Literal::Zero(type)); }

Instruction* SpmdCode::Filled(Shape shape, Instruction* scalar) {
  return shape.rank() == 0 ? scalar : Broadcast(scalar, shape.dims(), {});
}

Instruction* SpmdCode::Nothing(ElementType type) { return Constant(NothingOf(type)); }

Computation* SpmdCode::Union(ElementType type) {
  return ScalarComputation(state_.module(), UnionOpcode(type), type);
}

ReplicaGroups SpmdCode::GlobalGroups(const GroupsOfDevices& groups) const {
  GroupsOfDevices all;
  for (int64_t replica = 0; replica < state_.replicas(); ++replica) {
    for (std::vector<int64_t> group : groups) {
      for (int64_t& id : group) id += replica * state_.partitions();
      all.push_back(std::move(group));
    }
  }
  return {std::move(all)};
}

Instruction* SpmdCode::AllGather(Instruction* x, int64_t d, const GroupsOfDevices& groups) {
  if (AreSingle(groups)) return x;
  AllGatherAttrs attrs;
  attrs.channel_id = state_.NewChannel();
  attrs.use_global_device_ids = true;
  attrs.replica_groups = GlobalGroups(groups);
  attrs.dimensions.value = d;
  const int64_t size = x->shape().dim(static_cast<int>(d)) * static_cast<int64_t>(groups[0].size());
  return OpWithShape(Opcode::kAllGather, x->shape().WithDim(static_cast<int>(d), size), {x},
                     AttrsPtr::Make(std::move(attrs)));
}

Instruction* SpmdCode::AllReduce(Instruction* x, const GroupsOfDevices& groups,
                                 Computation* combiner) {
  if (AreSingle(groups)) return x;
  AllReduceAttrs attrs;
  attrs.channel_id = state_.NewChannel();
  attrs.use_global_device_ids = true;
  attrs.replica_groups = GlobalGroups(groups);
  return OpWithShape(Opcode::kAllReduce, x->shape(), {x}, AttrsPtr::Make(std::move(attrs)),
                     {combiner});
}

Instruction* SpmdCode::ReduceScatter(Instruction* x, int64_t d, const GroupsOfDevices& groups,
                                     Computation* combiner) {
  if (AreSingle(groups)) return x;
  ReduceScatterAttrs attrs;
  attrs.channel_id = state_.NewChannel();
  attrs.use_global_device_ids = true;
  attrs.replica_groups = GlobalGroups(groups);
  attrs.dimensions.value = d;
  const int64_t size = x->shape().dim(static_cast<int>(d)) / static_cast<int64_t>(groups[0].size());
  return OpWithShape(Opcode::kReduceScatter, x->shape().WithDim(static_cast<int>(d), size), {x},
                     AttrsPtr::Make(std::move(attrs)), {combiner});
}

Instruction* SpmdCode::AllToAll(Instruction* x, int64_t d, const GroupsOfDevices& groups) {
  if (AreSingle(groups)) return x;
  AllToAllAttrs attrs;
  attrs.channel_id = state_.NewChannel();
  attrs.replica_groups.form = groups;
  attrs.dimensions = BracedDim{d};
  return OpWithShape(Opcode::kAllToAll, x->shape(), {x}, AttrsPtr::Make(std::move(attrs)));
}

Instruction* SpmdCode::FromFirst(Instruction* x, const GroupsOfDevices& groups) {
  if (AreSingle(groups)) return x;
  CollectiveBroadcastAttrs attrs;
  attrs.channel_id = state_.NewChannel();
  attrs.replica_groups.form = groups;
  return OpWithShape(Opcode::kCollectiveBroadcast, x->shape(), {x},
                     AttrsPtr::Make(std::move(attrs)));
}

Instruction* SpmdCode::Permute(Instruction* x,
                               const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  CollectivePermuteAttrs attrs;
  attrs.channel_id = state_.NewChannel();
  attrs.source_target_pairs.assign(pairs.begin(), pairs.end());
  return OpWithShape(Opcode::kCollectivePermute, x->shape(), {x}, AttrsPtr::Make(std::move(attrs)));
}

}  // namespace hlo
