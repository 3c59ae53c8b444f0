#include "passes/sharding/reshape_rule.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"
#include "passes/sharding/sharding_merge.h"

namespace hlo {
namespace {

// Walks along the dimensions of both arrays from the major side, and gives the tiles of those of
// the source to those of the target while both still count in the same units.
class TileWalk {
 public:
  TileWalk(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
           absl::Span<const int64_t> tiles)
      : from_(from), to_(to), tiles_(tiles), result_(to.size(), 1) {}

  // The tiles of the target; none if nothing is split, or if a tile ends inside an element of a
  // split dimension.
  std::optional<DimVec> Run() {
    TakeSource();
    TakeTarget();
    while (AtBoth() && SkipUnsplit() && !failed_ && Step()) continue;
    if (failed_ || Product(result_) == 1) return std::nullopt;
    return result_;
  }

 private:
  bool AtBoth() const { return source_ < from_.size() && target_ < to_.size(); }
  void TakeSource() {
    if (source_ >= from_.size()) return;
    source_left_ = from_[source_];
    tiles_left_ = tiles_[source_];
  }
  void TakeTarget() {
    if (target_ < to_.size()) target_left_ = to_[target_];
  }
  void NextSource() {
    ++source_;
    TakeSource();
  }
  void NextTarget() {
    ++target_;
    TakeTarget();
  }

  // Past dimensions that are not split, and as much of the target; false where that is no whole
  // number of dimensions.
  bool SkipUnsplit() {
    int64_t skipped = 1;
    while (source_ < from_.size() && tiles_left_ == 1) {
      skipped *= source_left_;
      NextSource();
    }
    while (target_ < to_.size() && skipped != 1 && target_left_ != 0 &&
           skipped % target_left_ == 0) {
      skipped /= target_left_;
      NextTarget();
    }
    return AtBoth() && skipped == 1;
  }

  // One dimension, or a part of one; false at the end.
  bool Step() {
    if (source_left_ == target_left_) {
      if (target_left_ != to_[target_] && source_left_ % tiles_left_ != 0) {
        result_[target_] *= std::gcd(source_left_, tiles_left_);
        return false;
      }
      result_[target_] *= tiles_left_;
      NextSource();
      NextTarget();
      return true;
    }
    if (target_left_ == 1) {
      NextTarget();
      return true;
    }
    if (source_left_ == 1) {
      NextSource();
      return true;
    }
    if (source_left_ % tiles_left_ != 0) {
      failed_ = true;
      return false;
    }
    const int64_t common = std::gcd(tiles_left_, target_left_);
    if (common == 1) return false;
    source_left_ /= common;
    tiles_left_ /= common;
    target_left_ /= common;
    result_[target_] *= common;
    return true;
  }

  absl::Span<const int64_t> from_, to_, tiles_;
  size_t source_ = 0, target_ = 0;
  int64_t source_left_ = 1, tiles_left_ = 1, target_left_ = 1;
  DimVec result_;
  bool failed_ = false;
};

// What the dimensions [begin, end) of the source alone say.
std::optional<TiledSharding> FromInterval(absl::Span<const int64_t> from,
                                          absl::Span<const int64_t> to,
                                          const TiledSharding& sharding, int64_t begin,
                                          int64_t end) {
  DimVec tiles(from.size(), 1);
  for (int64_t d = begin; d < end; ++d) tiles[d] = sharding.tile_dims[d];
  std::optional<DimVec> reshaped = TileWalk(from, to, tiles).Run();
  if (!reshaped.has_value()) return std::nullopt;
  // Devices that differ in other dimensions have copies.
  const auto dim_count = static_cast<int64_t>(sharding.tile_dims.size());
  DimVec order;
  for (int64_t d = begin; d < end; ++d) order.push_back(d);
  for (int64_t d = 0; d < dim_count; ++d) {
    if (d < begin || d >= end) order.push_back(d);
  }
  const int64_t devices = DeviceCount(sharding);
  if (devices % Product(*reshaped) != 0) return std::nullopt;
  reshaped->push_back(devices / Product(*reshaped));
  return WithSubgroups(WithTileDims(WithTilesTransposed(sharding, order), *std::move(reshaped)),
                       {SubgroupType::kReplicated});
}

// The longest intervals that say something, merged.
TiledSharding FromIntervals(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                            const TiledSharding& sharding) {
  TiledSharding result;
  const auto rank = static_cast<int64_t>(from.size());
  for (int64_t begin = 0; begin < rank;) {
    int64_t end = rank;
    for (; end > begin; --end) {
      const auto part = FromInterval(from, to, sharding, begin, end);
      if (part.has_value() && MergeIfCompatible(*part, result)) break;
    }
    begin = std::max(end, begin + 1);
  }
  result.metadata = sharding.metadata;
  return result;
}

// The tiles of one manual group, of devices that are numbered within it, for the reshaped array.
TiledSharding OfOneGroup(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                         const DimVec& tiles) {
  TiledSharding group;
  group.tile_dims = tiles;
  group.iota = IotaTiles::Make(tiles, {Product(tiles)}, {0});
  group = WithSubgroups(std::move(group), std::vector<SubgroupType>(tiles.size() - from.size(),
                                                                    SubgroupType::kReplicated));
  if (IsTiled(group)) group = FromIntervals(from, to, group);
  if (IsTiled(group)) return group;
  // All copies of one tile.
  group.tile_dims.assign(to.size(), 1);
  group.tile_dims.push_back(Product(tiles));
  group.iota = IotaTiles::Make(group.tile_dims, {Product(tiles)}, {0});
  return group;
}

// Each manual group by itself: what becomes of one becomes of the devices of every other.
TiledSharding FromManualGroups(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                               const TiledSharding& sharding) {
  const int64_t manual = SubgroupDim(sharding, SubgroupType::kManual);
  const int64_t groups = sharding.tile_dims[manual];
  DimVec order = {manual}, tiles;
  for (int64_t d = 0; d < static_cast<int64_t>(sharding.tile_dims.size()); ++d) {
    if (d == manual) continue;
    order.push_back(d);
    tiles.push_back(sharding.tile_dims[d]);
  }
  const TiledSharding group = OfOneGroup(from, to, tiles);
  TiledSharding result = WithTilesTransposed(sharding, order);
  if (!group.iota.has_value() || !group.iota->is_identity()) {
    const std::vector<int64_t> devices = result.Devices(), numbers = group.Devices();
    result.iota.reset();
    result.devices.clear();
    for (int64_t g = 0; g < groups; ++g) {
      for (const int64_t number : numbers)
        result.devices.push_back(devices[g * static_cast<int64_t>(numbers.size()) + number]);
    }
  }
  DimVec dims = group.tile_dims;
  dims.insert(dims.begin(), groups);
  // The groups go between the data and the copies.
  DimVec back = IdentityMap(static_cast<int64_t>(dims.size()));
  std::rotate(back.begin(), back.begin() + 1, back.begin() + 1 + static_cast<int>(to.size()));
  std::vector<SubgroupType> types(dims.size() - to.size(), SubgroupType::kReplicated);
  types[0] = SubgroupType::kManual;
  return WithSubgroups(WithTilesTransposed(WithTileDims(std::move(result), dims), back),
                       std::move(types));
}

}  // namespace

TiledSharding ThroughReshape(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                             const TiledSharding& sharding) {
  if (!IsTiled(sharding)) return sharding;
  return HasManualGroup(sharding) ? FromManualGroups(from, to, sharding)
                                  : FromIntervals(from, to, sharding);
}

}  // namespace hlo
