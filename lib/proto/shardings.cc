// Shardings in messages: one message type for leaves, tuples and the named form.
#include <array>

#include "lib/proto/values.h"

namespace hlo::internal {
namespace {

// OpSharding.Type of schema.inc.
enum Type : int64_t { kReplicated, kMaximal, kTuple, kOther, kManual, kUnknown, kUnreduced };

constexpr std::array<std::pair<TiledSharding::Kind, Type>, 6> kTypes = {
    {{TiledSharding::Kind::kReplicated, kReplicated},
     {TiledSharding::Kind::kMaximal, kMaximal},
     {TiledSharding::Kind::kTiled, kOther},
     {TiledSharding::Kind::kManual, kManual},
     {TiledSharding::Kind::kUnknown, kUnknown},
     {TiledSharding::Kind::kUnreduced, kUnreduced}}};
constexpr std::array<std::pair<SubgroupType, Type>, 4> kSubgroups = {
    {{SubgroupType::kManual, kManual},
     {SubgroupType::kReplicated, kReplicated},
     {SubgroupType::kMaximal, kMaximal},
     {SubgroupType::kUnreduced, kUnreduced}}};

template <class Io>
void MapSharding(const Io& io, NamedSharding::Dim& dim) {
  Parts(io, "axes", dim.axes);
  bool closed = !dim.open;
  io.Int("is_closed", closed);
  if constexpr (Io::kReads) dim.open = !closed;
}

template <class Io>
void MapSharding(const Io& io, NamedSharding& sharding) {
  Part(io, "mesh", sharding.mesh);
  io.Each("dim_shardings", sharding.dims,
          [](const auto& part, NamedSharding::Dim& dim) { MapSharding(part, dim); });
  Parts(io, "replicated_axes", sharding.replicated);
  Parts(io, "unreduced_axes", sharding.unreduced);
  Parts(io, "manual_axes", sharding.manual);
  Parts(io, "metadata", sharding.metadata);
}

template <class Io>
void MapSharding(const Io& io, TiledSharding& sharding) {
  int64_t type = 0;
  for (const auto& [kind, number] : kTypes) {
    if (kind == sharding.kind) type = number;
  }
  io.Int("type", type);
  DimVec dims = sharding.tile_dims;
  std::vector<int64_t> devices = sharding.devices;
  if (sharding.kind == TiledSharding::Kind::kMaximal) {
    dims = {1};
    devices = {sharding.maximal_device};
  }
  io.Ints("tile_assignment_dimensions", dims);
  io.Ints("tile_assignment_devices", devices);
  IotaTiles iota = sharding.iota.value_or(IotaTiles());
  io.Ints("iota_reshape_dims", iota.reshape_dims);
  io.Ints("iota_transpose_perm", iota.transpose);
  io.Int("replicate_on_last_tile_dim", sharding.last_tile_dim_replicate);
  std::vector<int64_t> subgroups;
  for (const SubgroupType subgroup : sharding.last_tile_dims) {
    for (const auto& [kind, number] : kSubgroups) {
      if (kind == subgroup) subgroups.push_back(number);
    }
  }
  io.Ints("last_tile_dims", subgroups);
  bool is_group = sharding.group_kind != ShardGroupKind::kNone;
  int64_t group_id = is_group ? sharding.group_id : 0;
  int64_t group_type = sharding.group_kind == ShardGroupKind::kLike ? 1 : 0;
  io.Int("is_shard_group", is_group);
  io.Int("shard_group_id", group_id);
  io.Int("shard_group_type", group_type);
  Parts(io, "metadata", sharding.metadata);
  if constexpr (Io::kReads) {
    bool known = false;
    for (const auto& [kind, number] : kTypes) {
      if (number != type) continue;
      sharding.kind = kind;
      known = true;
    }
    if (!known) io.Problem("a sharding has the unknown type " + std::to_string(type));
    if (sharding.kind == TiledSharding::Kind::kMaximal) {
      if (devices.size() != 1) io.Problem("a maximal sharding does not name one device");
      sharding.maximal_device = devices.empty() ? 0 : devices[0];
    } else {
      sharding.tile_dims = dims;
      sharding.devices = std::move(devices);
    }
    if (!iota.reshape_dims.empty()) {
      iota.dims = dims;
      sharding.iota = std::move(iota);
    }
    for (const int64_t number : subgroups) {
      for (const auto& [kind, of_kind] : kSubgroups) {
        if (of_kind == number) sharding.last_tile_dims.push_back(kind);
      }
    }
    if (is_group) {
      sharding.group_kind = group_type == 1 ? ShardGroupKind::kLike : ShardGroupKind::kAs;
      sharding.group_id = group_id;
    }
  }
}

void WriteLeaf(const Sharding::Leaf& leaf, const FieldWriter& io) {
  if (const auto* named = std::get_if<NamedSharding>(&leaf)) {
    NamedSharding copy = *named;
    io.Message("named_sharding", true, [&](const auto& part) { MapSharding(part, copy); });
  } else {
    TiledSharding copy = std::get<TiledSharding>(leaf);
    MapSharding(io, copy);
  }
}

Sharding::Leaf ReadLeaf(const FieldReader& io) {
  if (io.Has("named_sharding")) {
    NamedSharding named;
    MapSharding(io.Sub("named_sharding"), named);
    const auto check = [&](const std::vector<AxisRef>& refs) {
      for (const AxisRef& ref : refs) {
        if (ref.axis >= 0 && ref.axis < static_cast<int64_t>(named.mesh.axes.size())) continue;
        io.Problem("a sharding names axis " + std::to_string(ref.axis) + " of a mesh with " +
                   std::to_string(named.mesh.axes.size()));
      }
    };
    for (const NamedSharding::Dim& dim : named.dims) check(dim.axes);
    check(named.replicated);
    check(named.unreduced);
    check(named.manual);
    return named;
  }
  TiledSharding tiled;
  MapSharding(io, tiled);
  return tiled;
}

}  // namespace

void WriteSharding(const Sharding& sharding, pb::Message& message) {
  const FieldWriter io(message);
  if (!sharding.is_tuple) return WriteLeaf(sharding.leaves[0], io);
  io.Set("type", kTuple);
  for (const Sharding::Leaf& leaf : sharding.leaves)
    WriteLeaf(leaf, FieldWriter(*io.AddMessage("tuple_shardings")));
}

Sharding ReadSharding(const FieldReader& io) {
  if (io.Get("type") != kTuple) return Sharding::Of(ReadLeaf(io));
  std::vector<Sharding::Leaf> leaves;
  io.Each("tuple_shardings", leaves,
          [](const auto& part, Sharding::Leaf& leaf) { leaf = ReadLeaf(part); });
  return Sharding::Tuple(std::move(leaves));
}

}  // namespace hlo::internal
