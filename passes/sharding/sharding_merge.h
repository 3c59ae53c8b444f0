// Which of two shardings of one array says more, and one that says what both say.
//
//   {replicated}  <  {devices=[2,1]<=[2]}  <  {devices=[4,1]<=[4]}
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate} and
//   {devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}  merge to  {devices=[2,2]<=[4]}
#pragma once

#include <optional>

#include "lib/types/shape.h"
#include "passes/util/sharding_algebra.h"

namespace hlo {

// `a` says more than `b`. Of two manual ones neither does.
bool IsMoreSpecific(const TiledSharding& a, const TiledSharding& b);
// Every tile of `fine` lies in the tile of `coarse` that the same device has.
bool RefinesTiles(Shape shape, const TiledSharding& fine, const TiledSharding& coarse);

// Makes `into` a sharding that refines both, if there is one with at least `minimum_tiles` tiles.
// What `into` splits, and `other` splits otherwise, is in the way, as is an `into` without copies.
bool MergeIfCompatible(const TiledSharding& other, int64_t minimum_tiles, TiledSharding& into);
// As above: with more tiles than `into` has.
bool MergeIfCompatible(const TiledSharding& other, TiledSharding& into);
// One sharding that all of these agree with, or else `otherwise`.
TiledSharding CommonSharding(absl::Span<const TiledSharding> shardings,
                             const TiledSharding& otherwise);

struct ImproveOptions {
  bool may_combine = false;  // merge shardings with copies
  // Take one with more tiles, even if data has to move between devices for it.
  bool may_reshard = false;
};

// Makes `proposed` the better sharding in place of `existing`; false if that is `existing`.
bool MergeBetter(const TiledSharding& existing, TiledSharding& proposed, bool may_combine);
// What an array with sharding `existing` (null: none) should have, if not that.
std::optional<TiledSharding> Improved(TiledSharding proposed, const TiledSharding* existing,
                                      Shape shape, ImproveOptions options);

}  // namespace hlo
