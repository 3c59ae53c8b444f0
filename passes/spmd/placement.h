// Where the parts of an array are: which tile of it each device holds.
//
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate}     tiles 2 x 1; devices 0, 1: tile 0,0; 2, 3: 1,0
//   {replicated}                                       tiles 1 x 1; all devices: tile 0,0
//
// Tiles have the size of the array divided by their number, rounded up: the last ones may reach
// beyond the array, or lie outside of it. What is there is undefined; who combines elements along
// the dimension masks them.
//
// Devices are in regions that know nothing of each other. Outside of manual regions of the program
// there is one; inside of one that is manual along all axes of the mesh every device is a region of
// its own. Each region has a whole array, which its devices share in tiles: every tile is held by
// as many devices as any other.
#pragma once

#include <compare>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/shape.h"
#include "lib/types/sharding.h"

namespace hlo {

using GroupsOfDevices = std::vector<std::vector<int64_t>>;

class Placement {
 public:
  // All devices have all of it.
  static Placement Whole(int rank, int64_t devices);
  // Of an array of `rank` dimensions. What is on one device is taken to be on all of them. An error
  // if the sharding is of other devices.
  static absl::StatusOr<Placement> Of(const Sharding::Leaf& sharding, int rank, int64_t devices);
  // Dimension d is shared as dimension `dim` of `like`; where `like` is null, not at all. The
  // regions are those of `regions`.
  struct Source {
    const Placement* like = nullptr;
    int64_t dim = 0;
  };
  static Placement Join(const std::vector<Source>& dims, const Placement& regions);

  int rank() const { return static_cast<int>(tiles_.size()); }
  int64_t devices() const { return static_cast<int64_t>(regions_.size()); }
  int64_t tiles(int64_t d) const { return tiles_[static_cast<size_t>(d)]; }
  int64_t tile_count() const;
  // Which tile along dimension `d` a device has.
  int64_t tile_of(int64_t device, int64_t d) const {
    return tile_of_[static_cast<size_t>(device * rank() + d)];
  }
  int64_t region_of(int64_t device) const { return regions_[static_cast<size_t>(device)]; }
  bool IsWhole() const;
  bool HasOneRegion() const;
  // Every device is alone.
  bool IsManual() const;
  // Each tile is held by as many devices of a region as every other one. What Join makes of several
  // placements need not be.
  bool IsSound() const;

  // ---- others like it ----
  // An array of these dimensions of this one; -1: a new one, not shared.
  Placement Dims(absl::Span<const int64_t> dims) const;
  // The same array, not shared along `dims`, or along others only.
  Placement WithWhole(absl::Span<const int64_t> dims) const;
  Placement WithWhole(int64_t dim) const { return WithWhole(absl::Span<const int64_t>(&dim, 1)); }
  // An array of `rank` dimensions in these regions that is not shared.
  Placement AllWhole(int rank) const;
  // With dimension d shared as in `other`.
  Placement WithDim(int64_t d, const Placement& other) const;
  // With `factor` neighbouring tiles of dimension d in one.
  Placement WithMergedTiles(int64_t d, int64_t factor) const;
  // With each tile of dimension d in `factor` parts; part_of[i]: which of them device i has.
  Placement WithSplitTiles(int64_t d, int64_t factor, const std::vector<int64_t>& part_of) const;
  // Tiles of dimension d in reverse order.
  Placement WithReversedTiles(int64_t d) const;
  // The tiles of this one, the regions of `other`.
  Placement InRegionsOf(const Placement& other) const;

  // ---- questions about pairs ----
  bool SameAlong(int64_t d, const Placement& other) const;
  // The regions of `other` each have all of the array in these tiles, too.
  bool IsSoundIn(const Placement& other) const;
  // Each region of this one is part of one of `other`.
  bool RegionsRefine(const Placement& other) const;

  // Groups of devices that together have all tiles along `dims`, `size` neighbouring ones of them
  // if `dims` is one and `size` is not 0, and the same along the others; in the order of the tiles.
  GroupsOfDevices Groups(absl::Span<const int64_t> dims, int64_t size = 0) const;

  // The devices of each region.
  GroupsOfDevices Regions() const;

  // What a device has of an array of this shape.
  Shape TileShape(Shape whole) const;
  int64_t TileSize(Shape whole, int64_t d) const;
  // Some tiles along `d` reach beyond the array.
  bool IsUneven(Shape whole, int64_t d) const;

  std::string ToString() const;
  friend auto operator<=>(const Placement&, const Placement&) = default;

 private:
  std::vector<int64_t> tiles_;    // by dimension
  std::vector<int64_t> tile_of_;  // by device and dimension
  std::vector<int64_t> regions_;  // by device; the first device of the region
};

}  // namespace hlo
