// Regions of a program in which it sees to the devices along some axes of the mesh itself, and what
// shardings are there: those along the other axes, with the axes of the region as a manual
// subgroup.
//
//   axes {'a'} of mesh['a'=2,'b'=2]     [{}, {'b'}]   {devices=[1,2,2]<=[2,2]T(1,0)
//                                                      last_tile_dims={manual}}
//   axes {'a','b'}                      [{}, {}]      {manual}
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/shape.h"
#include "lib/types/sharding.h"

namespace hlo {

struct ManualRegion {
  Mesh mesh;
  std::vector<std::string> axes;  // none: what is outside of all regions
  friend bool operator==(const ManualRegion&, const ManualRegion&) = default;
  bool is_outside() const { return axes.empty(); }
  // Values may be divided along other axes of the mesh.
  bool is_divided() const { return axes.size() < mesh.axes.size(); }
};

// The region that is manual along `axes` of `mesh` within `outer`. Errors have no place.
absl::StatusOr<ManualRegion> RegionWithin(const ManualRegion& outer, const Mesh& mesh,
                                          const std::vector<std::string>& axes);

// What `sharding` says of an array of this shape in the region, in the classic form.
absl::StatusOr<Sharding> ShardingIn(const ManualRegion& region, NamedSharding sharding,
                                    Shape shape);
// The same without the axes of the region: of the part that a device has.
absl::StatusOr<Sharding> LocalShardingIn(const ManualRegion& region, NamedSharding sharding,
                                         Shape shape);
// The dimensions that may be divided further.
DimVec OpenDimsOf(const NamedSharding& sharding);
// Of a value of any shape that is not divided along the other axes.
Sharding WholeIn(const ManualRegion& region, Shape shape);

// The shape of the part is that of the whole, divided by the axes of `region` that are not those of
// `outer`.
absl::Status CheckLocalShape(const ManualRegion& region, const ManualRegion& outer,
                             const NamedSharding& sharding, Shape whole, Shape part);

}  // namespace hlo
