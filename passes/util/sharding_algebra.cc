#include "passes/util/sharding_algebra.h"

#include <numeric>

#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Kind = TiledSharding::Kind;

TiledSharding ReplicatedLike(const TiledSharding& sharding) {
  TiledSharding result;
  result.metadata = sharding.metadata;
  return result;
}

void SetDevices(TiledSharding& sharding, std::vector<int64_t> devices) {
  sharding.iota.reset();
  sharding.devices = std::move(devices);
}

}  // namespace

DimMap InverseMap(absl::Span<const int64_t> map, int64_t rank) {
  DimMap inverse(static_cast<size_t>(rank), -1);
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d] >= 0) inverse[map[d]] = static_cast<int64_t>(d);
  }
  return inverse;
}

DimMap IdentityMap(int64_t rank) {
  DimMap map(static_cast<size_t>(rank));
  absl::c_iota(map, 0);
  return map;
}

bool IsTiled(const TiledSharding& sharding) { return sharding.kind == Kind::kTiled; }
bool IsReplicated(const TiledSharding& sharding) { return sharding.kind == Kind::kReplicated; }
bool IsManual(const TiledSharding& sharding) { return sharding.kind == Kind::kManual; }
bool IsWhole(const TiledSharding& sharding) {
  return sharding.kind == Kind::kReplicated || sharding.kind == Kind::kMaximal;
}

std::vector<SubgroupType> Subgroups(const TiledSharding& sharding) {
  if (sharding.last_tile_dim_replicate) return {SubgroupType::kReplicated};
  return sharding.last_tile_dims;
}

int64_t SubgroupDim(const TiledSharding& sharding, SubgroupType type) {
  if (!IsTiled(sharding)) return -1;
  const std::vector<SubgroupType> types = Subgroups(sharding);
  const auto found = absl::c_find(types, type);
  return found == types.end() ? -1 : sharding.data_rank() + (found - types.begin());
}

bool HasCopies(const TiledSharding& sharding) {
  return SubgroupDim(sharding, SubgroupType::kReplicated) >= 0;
}
bool HasManualGroup(const TiledSharding& sharding) {
  return SubgroupDim(sharding, SubgroupType::kManual) >= 0;
}

int64_t DataTiles(const TiledSharding& sharding) {
  if (!IsTiled(sharding)) return 1;
  return Product(absl::MakeSpan(sharding.tile_dims).first(sharding.data_rank()));
}

int64_t TilesAlong(const TiledSharding& sharding, int64_t dim) {
  return IsTiled(sharding) && dim < sharding.data_rank() ? sharding.tile_dims[dim] : 1;
}

int64_t DeviceCount(const TiledSharding& sharding) { return Product(sharding.tile_dims); }

bool SameDevices(const TiledSharding& a, const TiledSharding& b) {
  if (a.iota.has_value() && b.iota.has_value() && a.iota->reshape_dims == b.iota->reshape_dims &&
      a.iota->transpose == b.iota->transpose)
    return true;
  return a.Devices() == b.Devices();
}

bool SameTiles(const TiledSharding& a, const TiledSharding& b) {
  return a.kind == b.kind && a.tile_dims == b.tile_dims &&
         a.last_tile_dim_replicate == b.last_tile_dim_replicate &&
         a.last_tile_dims == b.last_tile_dims && a.maximal_device == b.maximal_device &&
         a.group_kind == b.group_kind && a.group_id == b.group_id && a.reduction == b.reduction &&
         SameDevices(a, b);
}

TiledSharding WithTileDims(TiledSharding sharding, DimVec dims) {
  if (sharding.iota.has_value()) sharding.iota = sharding.iota->Reshaped(dims);
  sharding.tile_dims = std::move(dims);
  return sharding;
}

TiledSharding WithTilesTransposed(const TiledSharding& sharding, absl::Span<const int64_t> order) {
  if (absl::c_is_sorted(order)) return sharding;
  TiledSharding result = sharding;
  result.tile_dims = Permute(sharding.tile_dims, order);
  if (sharding.iota.has_value()) {
    if (std::optional<IotaTiles> iota = sharding.iota->Transposed(order)) {
      result.iota = std::move(iota);
      return result;
    }
  }
  const std::vector<int64_t> devices = sharding.Devices();
  const DimVec strides = Permute(RowMajorStrides(sharding.tile_dims), order);
  std::vector<int64_t> moved;
  moved.reserve(devices.size());
  DimVec index(order.size(), 0);
  do {
    moved.push_back(
        devices[std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0})]);
  } while (NextIndex(absl::MakeSpan(index), result.tile_dims));
  SetDevices(result, std::move(moved));
  return result;
}

TiledSharding WithSubgroups(TiledSharding sharding, std::vector<SubgroupType> types) {
  sharding.kind = Kind::kTiled;
  sharding.last_tile_dim_replicate = false;
  sharding.last_tile_dims = std::move(types);
  if (Product(sharding.tile_dims) == 1) return ReplicatedLike(sharding);
  return TiledSharding::Canonical(std::move(sharding));
}

TiledSharding MapDims(const TiledSharding& sharding, absl::Span<const int64_t> map, int64_t rank) {
  if (!IsTiled(sharding)) return sharding;
  const int64_t data_rank = sharding.data_rank();
  // The dimensions that stay, in their new order, those that go, the subgroups.
  DimVec order, tiles(static_cast<size_t>(rank), 1);
  for (const int64_t d : InverseMap(map, rank)) {
    if (d >= 0) order.push_back(d);
  }
  int64_t copies = 1;
  for (int64_t d = 0; d < data_rank; ++d) {
    if (map[d] >= 0) {
      tiles[map[d]] = sharding.tile_dims[d];
    } else {
      order.push_back(d);
      copies *= sharding.tile_dims[d];
    }
  }
  std::vector<SubgroupType> types = Subgroups(sharding);
  if (copies > 1) {
    tiles.push_back(copies);
    types.insert(types.begin(), SubgroupType::kReplicated);
  }
  for (int64_t d = data_rank; d < static_cast<int64_t>(sharding.tile_dims.size()); ++d) {
    order.push_back(d);
    tiles.push_back(sharding.tile_dims[d]);
  }
  return WithSubgroups(WithTileDims(WithTilesTransposed(sharding, order), std::move(tiles)),
                       std::move(types));
}

TiledSharding ReplicateDims(const TiledSharding& sharding, absl::Span<const int64_t> dims) {
  if (!IsTiled(sharding)) return sharding;
  DimMap map = IdentityMap(sharding.data_rank());
  bool is_split = false;
  for (const int64_t d : dims) {
    is_split |= sharding.tile_dims[d] > 1;
    map[d] = -1;
  }
  return is_split ? MapDims(sharding, map, sharding.data_rank()) : sharding;
}

TiledSharding KeepDims(const TiledSharding& sharding, absl::Span<const int64_t> dims) {
  if (!IsTiled(sharding)) return sharding;
  DimVec others;
  for (int64_t d = 0; d < sharding.data_rank(); ++d) {
    if (!absl::c_linear_search(dims, d)) others.push_back(d);
  }
  return ReplicateDims(sharding, others);
}

TiledSharding ReplicateAllDims(const TiledSharding& sharding, int64_t rank) {
  if (IsManual(sharding)) return sharding;
  if (sharding.last_tile_dims.empty()) return ReplicatedLike(sharding);
  return MapDims(sharding, DimMap(static_cast<size_t>(sharding.data_rank()), -1), rank);
}

TiledSharding ReverseDims(const TiledSharding& sharding, absl::Span<const int64_t> dims) {
  const auto is_split = [&](int64_t d) { return TilesAlong(sharding, d) > 1; };
  if (absl::c_none_of(dims, is_split)) return sharding;
  TiledSharding result = sharding;
  const std::vector<int64_t> devices = sharding.Devices();
  std::vector<int64_t> turned;
  turned.reserve(devices.size());
  DimVec index(sharding.tile_dims.size(), 0);
  do {
    DimVec from = index;
    for (const int64_t d : dims) from[d] = sharding.tile_dims[d] - 1 - from[d];
    turned.push_back(devices[LinearIndex(from, sharding.tile_dims)]);
  } while (NextIndex(absl::MakeSpan(index), sharding.tile_dims));
  SetDevices(result, std::move(turned));
  return TiledSharding::Canonical(std::move(result));
}

}  // namespace hlo
