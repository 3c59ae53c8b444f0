// lib/types/sharding_canonical.cc
//
// Soundness and canonical forms of classic shardings: what is replicated, manual or plainly tiled
// says so, subgroups are merged and sorted.
#include <algorithm>
#include <numeric>

#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "lib/types/sharding.h"
#include "lib/types/sharding_kind.h"

namespace hlo {
namespace {

using Kind = TiledSharding::Kind;

// The order of subgroup dimensions in canonical form.
int Rank(SubgroupType type) {
  switch (type) {
    case SubgroupType::kMaximal: return 0;
    case SubgroupType::kManual: return 1;
    case SubgroupType::kUnreduced: return 2;
    case SubgroupType::kReplicated: return 3;
  }
  return 0;
}

// A sharding without tiles that keeps everything else.
TiledSharding Simple(TiledSharding sharding, Kind kind) {
  sharding.kind = kind;
  sharding.tile_dims.clear();
  sharding.devices.clear();
  sharding.iota.reset();
  sharding.last_tile_dim_replicate = false;
  sharding.last_tile_dims.clear();
  return sharding;
}

void SetTileDims(TiledSharding& sharding, DimVec dims) {
  if (sharding.iota.has_value()) sharding.iota = sharding.iota->Reshaped(dims);
  sharding.tile_dims = std::move(dims);
}

// Permutes the tile dimensions; falls back to a device list where the result is no iota.
void TransposeTiles(TiledSharding& sharding, const DimVec& order) {
  DimVec dims = Permute(sharding.tile_dims, order);
  if (std::is_sorted(order.begin(), order.end())) return;
  if (sharding.iota.has_value()) {
    if (std::optional<IotaTiles> iota = sharding.iota->Transposed(order)) {
      sharding.iota = std::move(iota);
      sharding.tile_dims = std::move(dims);
      return;
    }
  }
  const std::vector<int64_t> devices = sharding.Devices();
  const DimVec strides = Permute(RowMajorStrides(sharding.tile_dims), order);
  sharding.iota.reset();
  sharding.devices.clear();
  DimVec index(dims.size(), 0);
  do {
    sharding.devices.push_back(
        devices[std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0})]);
  } while (NextIndex(absl::MakeSpan(index), dims));
  sharding.tile_dims = std::move(dims);
}

// The iota whose groups of `copies` neighbours are listed in rising order, if that is one: the
// groups are then whole dimensions of its source, of which the last may have to be split.
std::optional<IotaTiles> WithSortedCopies(const IotaTiles& iota, int64_t copies) {
  DimVec sizes = iota.reshape_dims;
  DimVec order = iota.transpose;
  size_t sorted_from = order.size();
  while (copies > 1 && sorted_from > 0) {
    const int64_t dim = order[--sorted_from];
    const int64_t size = sizes[static_cast<size_t>(dim)];
    if (size <= copies) {
      if (copies % size != 0) return std::nullopt;
      copies /= size;
      continue;
    }
    if (size % copies != 0) return std::nullopt;
    sizes[static_cast<size_t>(dim)] = size / copies;
    sizes.insert(sizes.begin() + dim + 1, copies);
    for (int64_t& other : order) other += other > dim ? 1 : 0;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(++sorted_from), dim + 1);
    copies = 1;
  }
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(sorted_from), order.end());
  return IotaTiles::Make(iota.dims, std::move(sizes), std::move(order));
}

// Devices that hold copies of one tile (the last dimension) are listed in rising order.
void SortCopies(TiledSharding& sharding) {
  const int64_t copies = sharding.tile_dims.back();
  if (sharding.iota.has_value()) {
    std::optional<IotaTiles> sorted = WithSortedCopies(*sharding.iota, copies);
    if (!sorted.has_value()) sharding.devices = sharding.iota->Devices();
    sharding.iota = std::move(sorted);
  }
  for (size_t begin = 0; begin + copies <= sharding.devices.size(); begin += copies) {
    std::sort(sharding.devices.begin() + begin, sharding.devices.begin() + begin + copies);
  }
}

// The last tile dimension replicates.
TiledSharding CanonicalPartial(TiledSharding sharding) {
  const int64_t copies = sharding.tile_dims.back();
  if (sharding.tile_dims.size() == 1 || copies == Product(sharding.tile_dims)) {
    return Simple(std::move(sharding), Kind::kReplicated);
  }
  if (copies == 1) {
    DimVec dims = sharding.tile_dims;
    dims.pop_back();
    SetTileDims(sharding, std::move(dims));
    sharding.last_tile_dim_replicate = false;
    return sharding;
  }
  SortCopies(sharding);
  return sharding;
}

// The last tile dimensions are subgroups, one per entry of last_tile_dims.
TiledSharding CanonicalSubgroups(TiledSharding sharding) {
  std::vector<SubgroupType> types = std::move(sharding.last_tile_dims);
  sharding.last_tile_dims.clear();
  const int64_t data_rank = static_cast<int64_t>(sharding.tile_dims.size() - types.size());
  const int64_t data_tiles = Product(absl::MakeSpan(sharding.tile_dims).first(data_rank));
  const bool one_type = std::equal(types.begin() + 1, types.end(), types.begin());
  if (one_type && data_tiles == 1) {
    switch (types[0]) {
      case SubgroupType::kManual: return Simple(std::move(sharding), Kind::kManual);
      case SubgroupType::kReplicated: return Simple(std::move(sharding), Kind::kReplicated);
      case SubgroupType::kUnreduced: return Simple(std::move(sharding), Kind::kUnreduced);
      case SubgroupType::kMaximal: break;
    }
  }
  // Subgroup dimensions that say something, by type; equal types keep their order.
  DimVec groups;
  for (int64_t i = 0; i < static_cast<int64_t>(types.size()); ++i) {
    if (sharding.tile_dims[data_rank + i] != 1) groups.push_back(data_rank + i);
  }
  const auto type_of = [&](int64_t dim) { return types[dim - data_rank]; };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](int64_t a, int64_t b) { return Rank(type_of(a)) < Rank(type_of(b)); });
  DimVec order(data_rank);
  std::iota(order.begin(), order.end(), 0);
  DimVec dims(sharding.tile_dims.begin(), sharding.tile_dims.begin() + data_rank);
  std::vector<SubgroupType> merged;
  for (const int64_t dim : groups) {
    order.push_back(dim);
    if (!merged.empty() && merged.back() == type_of(dim)) {
      dims.back() *= sharding.tile_dims[dim];
    } else {
      dims.push_back(sharding.tile_dims[dim]);
      merged.push_back(type_of(dim));
    }
  }
  // Dimensions of size 1 go to the end, where the reshape below drops them.
  for (int64_t dim = data_rank; dim < static_cast<int64_t>(sharding.tile_dims.size()); ++dim) {
    if (sharding.tile_dims[dim] == 1) order.push_back(dim);
  }
  TransposeTiles(sharding, order);
  SetTileDims(sharding, std::move(dims));
  if (merged.empty()) return sharding;
  if (merged.size() == 1 && merged[0] == SubgroupType::kReplicated) {
    sharding.last_tile_dim_replicate = true;
    return CanonicalPartial(std::move(sharding));
  }
  if (merged.size() == 1 && merged[0] == SubgroupType::kManual && data_tiles == 1) {
    return Simple(std::move(sharding), Kind::kManual);
  }
  if (merged.back() == SubgroupType::kReplicated) SortCopies(sharding);
  sharding.last_tile_dims = std::move(merged);
  return sharding;
}

absl::Status ValidateTiles(const TiledSharding& sharding) {
  if (sharding.tile_dims.empty()) return Error("a tiled sharding needs `devices=[…]`");
  for (const int64_t size : sharding.tile_dims) {
    if (size < 1)
      return Error("sharding has a tile dimension of size {}, expected at least 1", size);
  }
  const std::optional<int64_t> tiles = CheckedProduct(sharding.tile_dims);
  if (!tiles.has_value()) return Error("number of tiles of a sharding overflows 64 bits");
  const int64_t devices = sharding.iota.has_value() ? sharding.iota->device_count()
                                                    : static_cast<int64_t>(sharding.devices.size());
  if (devices != *tiles)
    return Error("sharding lists {} devices, expected {} as the tiles", devices, *tiles);
  if (!sharding.iota.has_value() && devices == 1) {
    return Error("tiled sharding lists one device, expected several (or `maximal device={}`)",
                 sharding.devices[0]);
  }
  if (sharding.last_tile_dim_replicate && !sharding.last_tile_dims.empty()) {
    return Error("sharding has both `last_tile_dim_replicate` and `last_tile_dims`");
  }
  if (sharding.last_tile_dims.size() > sharding.tile_dims.size()) {
    return Error("sharding has {} subgroups, but only {} tile dimensions",
                 sharding.last_tile_dims.size(), sharding.tile_dims.size());
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view Word(TiledSharding::Kind kind) {
  switch (kind) {
    case Kind::kReplicated: return "replicated";
    case Kind::kMaximal: return "maximal";
    case Kind::kManual: return "manual";
    case Kind::kUnknown: return "unknown";
    case Kind::kUnreduced: return "unreduced";
    case Kind::kTiled: return "tiled";
  }
  return "";
}

TiledSharding TiledSharding::Canonical(TiledSharding sharding) {
  if (sharding.kind != Kind::kTiled) return Simple(std::move(sharding), sharding.kind);
  if (!sharding.last_tile_dims.empty()) return CanonicalSubgroups(std::move(sharding));
  if (sharding.last_tile_dim_replicate) return CanonicalPartial(std::move(sharding));
  return sharding;
}

absl::Status TiledSharding::Validate() const {
  if (kind == Kind::kTiled) return ValidateTiles(*this);
  if (!tile_dims.empty() || !devices.empty() || iota.has_value()) {
    return Error("`{}` sharding has a list of devices", Word(kind));
  }
  return absl::OkStatus();
}

std::vector<int64_t> TiledSharding::Devices() const {
  if (kind == Kind::kMaximal) return {maximal_device};
  return iota.has_value() ? iota->Devices() : devices;
}

int64_t TiledSharding::data_rank() const {
  const size_t groups = last_tile_dim_replicate ? 1 : last_tile_dims.size();
  return static_cast<int64_t>(tile_dims.size() - groups);
}

}  // namespace hlo
