// Shardings made of shardings: what a sharding of one array says of another whose dimensions are
// those of the first in another order, fewer of them, or more.
//
//   MapDims({devices=[2,4]<=[8]}, {1,0}, 2)          {devices=[4,2]<=[2,4]T(1,0)}
//   MapDims({devices=[2,4]<=[8]}, {0,-1}, 1)         {devices=[2,4]<=[8] last_tile_dim_replicate}
//   MapDims({devices=[2,4]<=[8]}, {1,2}, 3)          {devices=[1,2,4]<=[8]}
//
// Everything here is about one array in the classic form, canonical before and after. What is not
// tiled (replicated, manual, on one device …) says the same of every array. Metadata stays.
#pragma once

#include "absl/types/span.h"
#include "lib/types/sharding.h"

namespace hlo {

// Where each dimension of one array is in another; -1: nowhere. One entry per dimension.
using DimMap = DimVec;
// The same read backwards, for an array of `rank` dimensions.
DimMap InverseMap(absl::Span<const int64_t> map, int64_t rank);
DimMap IdentityMap(int64_t rank);

// ---- questions ----
bool IsTiled(const TiledSharding& sharding);
bool IsReplicated(const TiledSharding& sharding);
bool IsManual(const TiledSharding& sharding);
// Whoever has the array has all of it: replicated, or on one device.
bool IsWhole(const TiledSharding& sharding);
// Several devices have the same tile, but not all.
bool HasCopies(const TiledSharding& sharding);
bool HasManualGroup(const TiledSharding& sharding);
// The tile dimension of the subgroup of this type, or -1.
int64_t SubgroupDim(const TiledSharding& sharding, SubgroupType type);
// The types of the tile dimensions after those of the data.
std::vector<SubgroupType> Subgroups(const TiledSharding& sharding);
// Tiles of the data (1 for what is not tiled), and along one dimension.
int64_t DataTiles(const TiledSharding& sharding);
int64_t TilesAlong(const TiledSharding& sharding, int64_t dim);
int64_t DeviceCount(const TiledSharding& sharding);
// Equal but for metadata and for how the devices are written.
bool SameTiles(const TiledSharding& a, const TiledSharding& b);
bool SameDevices(const TiledSharding& a, const TiledSharding& b);

// ---- the tiles as an array of devices; the results need not be canonical ----
TiledSharding WithTileDims(TiledSharding sharding, DimVec dims);
// Dimension i of the result is dimension order[i].
TiledSharding WithTilesTransposed(const TiledSharding& sharding, absl::Span<const int64_t> order);
// As these are to be understood: the last `types.size()` tile dimensions are subgroups.
TiledSharding WithSubgroups(TiledSharding sharding, std::vector<SubgroupType> types);

// ---- shardings of other arrays ----
// Of an array of `rank` dimensions: dimension d went to map[d]; what went nowhere is replicated.
TiledSharding MapDims(const TiledSharding& sharding, absl::Span<const int64_t> map, int64_t rank);
// The same array, not split along `dims`, or along `dims` only.
TiledSharding ReplicateDims(const TiledSharding& sharding, absl::Span<const int64_t> dims);
TiledSharding KeepDims(const TiledSharding& sharding, absl::Span<const int64_t> dims);
// An array of `rank` dimensions that is split along none; subgroups stay.
TiledSharding ReplicateAllDims(const TiledSharding& sharding, int64_t rank);
// Of the array read backwards along `dims`.
TiledSharding ReverseDims(const TiledSharding& sharding, absl::Span<const int64_t> dims);

}  // namespace hlo
