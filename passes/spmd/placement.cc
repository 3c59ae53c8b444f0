#include "passes/spmd/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/algorithm/container.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "passes/util/mesh_forms.h"
#include "passes/util/sharding_algebra.h"

namespace hlo {
namespace {

std::vector<int64_t> Counted(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  absl::c_iota(numbers, 0);
  return numbers;
}

}  // namespace

Placement Placement::Whole(int rank, int64_t devices) {
  Placement result;
  result.tiles_.assign(static_cast<size_t>(rank), 1);
  result.tile_of_.assign(static_cast<size_t>(rank * devices), 0);
  result.regions_.assign(static_cast<size_t>(devices), 0);
  return result;
}

absl::StatusOr<Placement> Placement::Of(const Sharding::Leaf& sharding, int rank, int64_t devices) {
  const auto* named = std::get_if<NamedSharding>(&sharding);
  const TiledSharding tiled =
      named == nullptr ? std::get<TiledSharding>(sharding) : ClassicForm(*named, rank);
  Placement result = Whole(rank, devices);
  if (hlo::IsManual(tiled)) result.regions_ = Counted(devices);
  if (!IsTiled(tiled)) return result;
  if (DeviceCount(tiled) != devices || tiled.data_rank() != rank) {
    return Error("the sharding {} is of {} devices and {} dimensions, not of {} and {}",
                 Sharding::Of(tiled).ToString(), DeviceCount(tiled), tiled.data_rank(), devices,
                 rank);
  }
  const int64_t manual = SubgroupDim(tiled, SubgroupType::kManual);
  std::copy_n(tiled.tile_dims.begin(), rank, result.tiles_.begin());
  std::map<int64_t, int64_t> first_of_region;
  DimVec index(tiled.tile_dims.size(), 0);
  for (const int64_t device : tiled.Devices()) {
    if (device < 0 || device >= devices)
      return Error("the sharding {} is of device {}, but there are {}",
                   Sharding::Of(tiled).ToString(), device, devices);
    std::copy_n(index.begin(), rank, result.tile_of_.begin() + device * rank);
    if (manual >= 0) {
      const auto [first, is_new] = first_of_region.emplace(index[manual], device);
      first->second = std::min(first->second, device);
      result.regions_[static_cast<size_t>(device)] = index[manual];
    }
    NextIndex(absl::MakeSpan(index), tiled.tile_dims);
  }
  if (manual >= 0) {
    for (int64_t& region : result.regions_) region = first_of_region.at(region);
  }
  return result;
}

Placement Placement::Join(const std::vector<Source>& dims, const Placement& regions) {
  const int64_t devices = regions.devices();
  Placement result = Whole(static_cast<int>(dims.size()), devices);
  result.regions_ = regions.regions_;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Placement* like = dims[d].like;
    if (like == nullptr) continue;
    result.tiles_[d] = like->tiles(dims[d].dim);
    for (int64_t device = 0; device < devices; ++device)
      result.tile_of_[static_cast<size_t>(device) * dims.size() + d] =
          like->tile_of(device, dims[d].dim);
  }
  return result;
}

int64_t Placement::tile_count() const { return Product(tiles_); }
bool Placement::IsWhole() const { return tile_count() == 1; }

bool Placement::HasOneRegion() const {
  return absl::c_all_of(regions_, [](int64_t region) { return region == 0; });
}

bool Placement::IsManual() const { return devices() > 1 && regions_ == Counted(devices()); }

bool Placement::IsSound() const {
  std::map<std::pair<int64_t, int64_t>, int64_t> holders;  // by region and tile
  std::map<int64_t, int64_t> sizes;                        // by region
  for (int64_t device = 0; device < devices(); ++device) {
    const auto begin = tile_of_.begin() + device * rank();
    const DimVec index(begin, begin + rank());
    ++holders[{region_of(device), LinearIndex(index, tiles_)}];
    ++sizes[region_of(device)];
  }
  return absl::c_all_of(holders, [&](const auto& entry) {
    return entry.second * tile_count() == sizes.at(entry.first.first);
  });
}

Placement Placement::Dims(absl::Span<const int64_t> dims) const {
  std::vector<Source> sources;
  for (const int64_t d : dims) sources.push_back({d < 0 ? nullptr : this, d});
  return Join(sources, *this);
}

Placement Placement::WithWhole(absl::Span<const int64_t> dims) const {
  std::vector<int64_t> kept = Counted(rank());
  for (const int64_t d : dims) kept[static_cast<size_t>(d)] = -1;
  return Dims(kept);
}

Placement Placement::AllWhole(int rank) const {
  return Join(std::vector<Source>(static_cast<size_t>(rank)), *this);
}

Placement Placement::WithDim(int64_t d, const Placement& other) const {
  std::vector<Source> sources;
  for (int64_t i = 0; i < rank(); ++i) sources.push_back({i == d ? &other : this, i});
  return Join(sources, *this);
}

Placement Placement::WithMergedTiles(int64_t d, int64_t factor) const {
  Placement result = *this;
  result.tiles_[static_cast<size_t>(d)] /= factor;
  for (int64_t device = 0; device < devices(); ++device)
    result.tile_of_[static_cast<size_t>(device * rank() + d)] /= factor;
  return result;
}

Placement Placement::WithSplitTiles(int64_t d, int64_t factor,
                                    const std::vector<int64_t>& part_of) const {
  Placement result = *this;
  result.tiles_[static_cast<size_t>(d)] *= factor;
  for (int64_t device = 0; device < devices(); ++device) {
    int64_t& tile = result.tile_of_[static_cast<size_t>(device * rank() + d)];
    tile = tile * factor + part_of[static_cast<size_t>(device)];
  }
  return result;
}

Placement Placement::WithReversedTiles(int64_t d) const {
  Placement result = *this;
  for (int64_t device = 0; device < devices(); ++device) {
    int64_t& tile = result.tile_of_[static_cast<size_t>(device * rank() + d)];
    tile = tiles(d) - 1 - tile;
  }
  return result;
}

Placement Placement::InRegionsOf(const Placement& other) const {
  Placement result = *this;
  result.regions_ = other.regions_;
  return result;
}

bool Placement::IsSoundIn(const Placement& other) const {
  return regions_ == other.regions_ || InRegionsOf(other).IsSound();
}

bool Placement::SameAlong(int64_t d, const Placement& other) const {
  if (tiles(d) != other.tiles(d)) return false;
  for (int64_t device = 0; device < devices(); ++device) {
    if (tile_of(device, d) != other.tile_of(device, d)) return false;
  }
  return true;
}

bool Placement::RegionsRefine(const Placement& other) const {
  for (int64_t device = 0; device < devices(); ++device) {
    if (other.region_of(device) != other.region_of(region_of(device))) return false;
  }
  return true;
}

GroupsOfDevices Placement::Groups(absl::Span<const int64_t> dims, int64_t size) const {
  // Devices alike but for the tiles along `dims`, by the tile there; the i-th holders of each tile
  // are a group.
  using Bucket = std::map<int64_t, std::vector<int64_t>>;
  std::map<std::vector<int64_t>, Bucket> buckets;
  for (int64_t device = 0; device < devices(); ++device) {
    std::vector<int64_t> key = {region_of(device)};
    int64_t tile = 0;
    for (int64_t d = 0; d < rank(); ++d) {
      if (!absl::c_linear_search(dims, d)) {
        key.push_back(tile_of(device, d));
      } else if (size != 0) {
        key.push_back(tile_of(device, d) / size);
      }
    }
    for (const int64_t d : dims) tile = tile * tiles(d) + tile_of(device, d);
    buckets[std::move(key)][tile].push_back(device);
  }
  GroupsOfDevices groups;
  for (const auto& [key, bucket] : buckets) {
    const size_t first = groups.size();
    groups.resize(first + bucket.begin()->second.size());
    for (const auto& [tile, holders] : bucket) {
      for (size_t i = 0; i < holders.size(); ++i) groups[first + i].push_back(holders[i]);
    }
  }
  absl::c_sort(groups);
  return groups;
}

GroupsOfDevices Placement::Regions() const {
  std::map<int64_t, std::vector<int64_t>> members;
  for (int64_t device = 0; device < devices(); ++device)
    members[region_of(device)].push_back(device);
  GroupsOfDevices groups;
  for (auto& [region, list] : members) groups.push_back(std::move(list));
  return groups;
}

int64_t Placement::TileSize(Shape whole, int64_t d) const {
  return CeilDiv(whole.dim(static_cast<int>(d)), tiles(d));
}

Shape Placement::TileShape(Shape whole) const {
  Shape result = whole;
  for (int d = 0; d < rank(); ++d) {
    if (tiles(d) > 1) result = result.WithDim(d, TileSize(whole, d));
  }
  return result;
}

bool Placement::IsUneven(Shape whole, int64_t d) const {
  return TileSize(whole, d) * tiles(d) != whole.dim(static_cast<int>(d));
}

std::string Placement::ToString() const {
  return fmt::format("[{}]:{}:{}", fmt::join(tiles_, ","), fmt::join(tile_of_, ","),
                     fmt::join(regions_, ","));
}

}  // namespace hlo
