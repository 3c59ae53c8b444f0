#include "passes/sharding/sharding_merge.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// The tiles of a merge: those of the data, the manual group if there is one, copies if any remain.
struct MergedTiles {
  DimVec dims;
  std::vector<SubgroupType> types;
  int64_t data_rank = 0;
  int64_t copies = 1;
};

std::optional<MergedTiles> TilesOfBoth(const TiledSharding& a, const TiledSharding& b) {
  const int64_t data_rank = a.data_rank(), devices = DeviceCount(a);
  if (b.data_rank() != data_rank || DeviceCount(b) != devices) return std::nullopt;
  const int64_t manual_a = SubgroupDim(a, SubgroupType::kManual);
  const int64_t manual_b = SubgroupDim(b, SubgroupType::kManual);
  if ((manual_a >= 0) != (manual_b >= 0)) return std::nullopt;
  const auto is_known = [](const TiledSharding& s) {
    return SubgroupDim(s, SubgroupType::kUnreduced) < 0 &&
           SubgroupDim(s, SubgroupType::kMaximal) < 0;
  };
  if (!is_known(a) || !is_known(b)) return std::nullopt;
  MergedTiles merged;
  merged.data_rank = data_rank;
  for (int64_t d = 0; d < data_rank; ++d) {
    const int64_t along_a = a.tile_dims[d], along_b = b.tile_dims[d];
    if (along_a != along_b && along_a != 1 && along_b != 1) return std::nullopt;
    merged.dims.push_back(std::max(along_a, along_b));
  }
  if (manual_a >= 0) {
    if (a.tile_dims[manual_a] != b.tile_dims[manual_b]) return std::nullopt;
    merged.dims.push_back(a.tile_dims[manual_a]);
    merged.types.push_back(SubgroupType::kManual);
  }
  const int64_t tiles = Product(merged.dims);
  if (devices % tiles != 0) return std::nullopt;
  merged.copies = devices / tiles;
  if (merged.copies > 1) {
    merged.dims.push_back(merged.copies);
    merged.types.push_back(SubgroupType::kReplicated);
  }
  return merged;
}

// The ways to split the copies of `sharding` into the tiles that it has not: each order of them in
// the dimension of the copies is one.
std::vector<TiledSharding> WaysToRefine(const TiledSharding& sharding, const MergedTiles& merged) {
  const int64_t copies_dim = SubgroupDim(sharding, SubgroupType::kReplicated);
  if (copies_dim < 0 || sharding.tile_dims[copies_dim] == merged.copies) {
    return {WithTileDims(sharding, merged.dims)};
  }
  // Tile dimensions that it has, in order; the others come from the copies.
  DimVec own, place(merged.dims.size(), -1), added;
  for (size_t d = 0; d < merged.dims.size(); ++d) {
    const bool is_data = static_cast<int64_t>(d) < merged.data_rank;
    const bool is_copies = merged.copies > 1 && d + 1 == merged.dims.size();
    if (!is_copies && (!is_data || sharding.tile_dims[d] == merged.dims[d])) {
      place[d] = static_cast<int64_t>(own.size());
      own.push_back(merged.dims[d]);
    } else {
      added.push_back(static_cast<int64_t>(d));
    }
  }
  std::vector<TiledSharding> ways;
  do {
    DimVec dims = own, order = place;
    for (const int64_t d : added) {
      order[d] = static_cast<int64_t>(dims.size());
      dims.push_back(merged.dims[d]);
    }
    ways.push_back(WithTilesTransposed(WithTileDims(sharding, dims), order));
  } while (std::next_permutation(added.begin(), added.end()));
  return ways;
}

// The number of the tile (with the manual group) of `sharding` that a merged tile is part of.
int64_t TileOf(const TiledSharding& sharding, absl::Span<const int64_t> index,
               const MergedTiles& merged) {
  int64_t number = 0;
  for (int64_t d = 0; d < merged.data_rank; ++d) {
    number = number * sharding.tile_dims[d] + (sharding.tile_dims[d] == 1 ? 0 : index[d]);
  }
  if (const int64_t manual = SubgroupDim(sharding, SubgroupType::kManual); manual >= 0)
    number = number * sharding.tile_dims[manual] + index[merged.data_rank];
  return number;
}

// The tile that each device has; the copies of a tile follow each other.
std::vector<int64_t> TilesByDevice(const TiledSharding& sharding) {
  const std::vector<int64_t> devices = sharding.Devices();
  const int64_t copies_dim = SubgroupDim(sharding, SubgroupType::kReplicated);
  const int64_t copies = copies_dim < 0 ? 1 : sharding.tile_dims[copies_dim];
  std::vector<int64_t> tiles(static_cast<size_t>(*absl::c_max_element(devices)) + 1, -1);
  for (size_t i = 0; i < devices.size(); ++i) tiles[devices[i]] = static_cast<int64_t>(i) / copies;
  return tiles;
}

// For any order of devices: each merged tile takes the next device that has a tile of both.
std::optional<std::vector<int64_t>> DevicesOfBoth(const TiledSharding& a, const TiledSharding& b,
                                                  const MergedTiles& merged) {
  const std::vector<int64_t> tile_a = TilesByDevice(a), tile_b = TilesByDevice(b);
  if (tile_a.size() != tile_b.size()) return std::nullopt;
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> shared;  // largest device first
  for (size_t device = tile_a.size(); device-- > 0;) {
    if ((tile_a[device] < 0) != (tile_b[device] < 0)) return std::nullopt;
    if (tile_a[device] >= 0)
      shared[{tile_a[device], tile_b[device]}].push_back(static_cast<int64_t>(device));
  }
  std::vector<int64_t> devices;
  DimVec index(merged.dims.size(), 0);
  do {
    const auto found = shared.find({TileOf(a, index, merged), TileOf(b, index, merged)});
    if (found == shared.end() || found->second.empty()) return std::nullopt;
    devices.push_back(found->second.back());
    found->second.pop_back();
  } while (NextIndex(absl::MakeSpan(index), merged.dims));
  return devices;
}

// A way to refine both, written as an iota if either is.
std::optional<TiledSharding> CommonWay(const TiledSharding& into, const TiledSharding& other,
                                       const MergedTiles& merged) {
  std::optional<TiledSharding> found;
  const std::vector<TiledSharding> of_other = WaysToRefine(other, merged);
  for (const TiledSharding& way : WaysToRefine(into, merged)) {
    for (const TiledSharding& candidate : of_other) {
      if (SameDevices(way, candidate)) found = way.iota.has_value() ? way : candidate;
    }
  }
  return found;
}

}  // namespace

bool IsMoreSpecific(const TiledSharding& a, const TiledSharding& b) {
  if (IsManual(a) && IsWhole(b)) return true;
  if (IsManual(a) || IsManual(b)) return false;
  if (!IsWhole(b)) return DataTiles(a) > DataTiles(b);
  return IsReplicated(b) ? !IsReplicated(a) : !IsWhole(a);
}

bool RefinesTiles(Shape shape, const TiledSharding& fine, const TiledSharding& coarse) {
  if (IsManual(fine) || IsManual(coarse)) return false;
  if (IsWhole(coarse)) return true;
  if (IsWhole(fine) || fine.data_rank() != coarse.data_rank()) return false;
  const int64_t rank = coarse.data_rank();
  DimVec fine_size, coarse_size;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = shape.dim(static_cast<int>(d));
    fine_size.push_back((size + fine.tile_dims[d] - 1) / fine.tile_dims[d]);
    coarse_size.push_back((size + coarse.tile_dims[d] - 1) / coarse.tile_dims[d]);
    if (fine_size.back() > coarse_size.back()) return false;
  }
  if (SameTiles(fine, coarse)) return true;
  // Where the tile of each device begins.
  std::map<int64_t, DimVec> begin_of;
  const auto for_each_tile = [](const TiledSharding& sharding, auto&& fn) {
    const std::vector<int64_t> devices = sharding.Devices();
    for (size_t i = 0; i < devices.size(); ++i) {
      if (!fn(MultiIndex(static_cast<int64_t>(i), sharding.tile_dims), devices[i])) return false;
    }
    return true;
  };
  for_each_tile(coarse, [&](const DimVec& index, int64_t device) {
    begin_of[device] = index;
    return true;
  });
  return for_each_tile(fine, [&](const DimVec& index, int64_t device) {
    const auto outer = begin_of.find(device);
    if (outer == begin_of.end()) return false;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t begin = fine_size[d] * index[d], end = begin + fine_size[d];
      const int64_t outer_begin = coarse_size[d] * outer->second[d];
      if (begin < outer_begin) return false;
      // The last tile may be shorter than the others.
      if (end <= shape.dim(static_cast<int>(d)) && end > outer_begin + coarse_size[d]) return false;
    }
    return true;
  });
}

bool MergeIfCompatible(const TiledSharding& other, int64_t minimum_tiles, TiledSharding& into) {
  if (IsWhole(other)) return false;
  if (IsWhole(into)) {
    into = other;
    return true;
  }
  if (!IsTiled(other) || !IsTiled(into) || !HasCopies(into)) return false;
  const std::optional<MergedTiles> merged = TilesOfBoth(other, into);
  if (!merged.has_value()) return false;
  if (Product(absl::MakeSpan(merged->dims).first(merged->data_rank)) < minimum_tiles) return false;
  std::optional<TiledSharding> result = CommonWay(into, other, *merged);
  if (!result.has_value()) {
    std::optional<std::vector<int64_t>> devices = DevicesOfBoth(other, into, *merged);
    if (!devices.has_value()) return false;
    result = into;
    result->iota.reset();
    result->devices = *std::move(devices);
    result->tile_dims = merged->dims;
  }
  result->metadata = into.metadata;
  for (const OpMetadata& entry : other.metadata) {
    if (!absl::c_linear_search(into.metadata, entry)) result->metadata.push_back(entry);
  }
  into = WithSubgroups(*std::move(result), merged->types);
  return true;
}

bool MergeIfCompatible(const TiledSharding& other, TiledSharding& into) {
  return MergeIfCompatible(other, DataTiles(into) + 1, into);
}

TiledSharding CommonSharding(absl::Span<const TiledSharding> shardings,
                             const TiledSharding& otherwise) {
  TiledSharding common = shardings[0];
  for (const TiledSharding& sharding : shardings.subspan(1)) {
    if (!SameTiles(common, sharding) && !MergeIfCompatible(sharding, DataTiles(common), common))
      return otherwise;
  }
  return common;
}

bool MergeBetter(const TiledSharding& existing, TiledSharding& proposed, bool may_combine) {
  if (may_combine && HasCopies(existing) && HasCopies(proposed)) {
    const int64_t minimum = std::max(DataTiles(existing), DataTiles(proposed)) + 1;
    if (MergeIfCompatible(existing, minimum, proposed)) return true;
  }
  return IsMoreSpecific(proposed, existing);
}

std::optional<TiledSharding> Improved(TiledSharding proposed, const TiledSharding* existing,
                                      Shape shape, ImproveOptions options) {
  if (existing != nullptr && IsManual(proposed) && IsWhole(*existing)) return proposed;
  // What one device has says nothing about its neighbours.
  if (proposed.kind == TiledSharding::Kind::kMaximal) return std::nullopt;
  if (existing == nullptr) return proposed;
  if (IsManual(proposed)) return std::nullopt;
  // A value stays in its region.
  if (HasManualGroup(*existing) && !HasManualGroup(proposed)) return std::nullopt;
  const int64_t tiles = DataTiles(proposed);
  if (!MergeBetter(*existing, proposed, options.may_combine)) return std::nullopt;
  // More tiles that do not lie in those that there are: another distribution, not a better one.
  if (!options.may_reshard && shape.IsArray() && IsTiled(*existing) &&
      DataTiles(proposed) == tiles && !RefinesTiles(shape, proposed, *existing))
    return std::nullopt;
  return proposed;
}

}  // namespace hlo
