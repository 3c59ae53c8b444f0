#include "passes/sharding/manual_region.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/status.h"
#include "passes/util/mesh_forms.h"

namespace hlo {
namespace {

// The axes of the region as those of another mesh with the same names.
absl::StatusOr<std::vector<AxisRef>> AxesIn(const Mesh& mesh, const ManualRegion& region) {
  std::vector<AxisRef> axes;
  for (const std::string& name : region.axes) {
    const int64_t axis = mesh.FindAxis(name);
    if (axis < 0)
      return Error("`{}` has no axis `{}`, which is manual here", mesh.ToString(), name);
    axes.push_back({axis});
  }
  absl::c_sort(axes, [](const AxisRef& a, const AxisRef& b) { return a.axis < b.axis; });
  return axes;
}

bool IsOf(const AxisRef& axis, const std::vector<AxisRef>& axes) {
  return absl::c_any_of(axes, [&](const AxisRef& other) { return other.axis == axis.axis; });
}

// A mesh without axes says nothing of a division: the value is whole.
void GiveMesh(const ManualRegion& region, NamedSharding& sharding) {
  if (sharding.mesh.axes.empty() && !sharding.mesh.maximal_device.has_value())
    sharding.mesh = region.mesh;
}

absl::StatusOr<Sharding> Classic(const ManualRegion& region, NamedSharding sharding, Shape shape) {
  const int rank = shape.IsArray() ? shape.rank() : 0;
  if (!sharding.mesh.maximal_device.has_value() && static_cast<int>(sharding.dims.size()) != rank) {
    return Error("{} dimensions, but the shape is `{}`", sharding.dims.size(), shape);
  }
  if (region.is_outside()) return Sharding::Of(ClassicForm(sharding, rank));
  if (sharding.mesh.maximal_device.has_value())
    return Error("on device {}, but in a manual region", *sharding.mesh.maximal_device);
  ASSIGN_OR_RETURN(sharding.manual, AxesIn(sharding.mesh, region));
  RETURN_IF_ERROR(sharding.Validate());
  if (sharding.manual.size() == sharding.mesh.axes.size()) sharding.dims.clear();
  return Sharding::Of(ClassicForm(sharding, rank));
}

}  // namespace

absl::StatusOr<ManualRegion> RegionWithin(const ManualRegion& outer, const Mesh& mesh,
                                          const std::vector<std::string>& axes) {
  ManualRegion region = outer;
  if (axes.empty()) return region;
  if (outer.is_outside()) region.mesh = mesh;
  for (const std::string& axis : axes) {
    if (region.mesh.FindAxis(axis) < 0)
      return Error("`{}` has no axis `{}`", region.mesh.ToString(), axis);
    if (absl::c_linear_search(region.axes, axis)) return Error("axis `{}` is manual twice", axis);
    region.axes.push_back(axis);
  }
  absl::c_sort(region.axes, [&](const std::string& a, const std::string& b) {
    return region.mesh.FindAxis(a) < region.mesh.FindAxis(b);
  });
  return region;
}

absl::StatusOr<Sharding> ShardingIn(const ManualRegion& region, NamedSharding sharding,
                                    Shape shape) {
  GiveMesh(region, sharding);
  return Classic(region, std::move(sharding), shape);
}

absl::StatusOr<Sharding> LocalShardingIn(const ManualRegion& region, NamedSharding sharding,
                                         Shape shape) {
  GiveMesh(region, sharding);
  ASSIGN_OR_RETURN(const std::vector<AxisRef> manual, AxesIn(sharding.mesh, region));
  const auto is_manual = [&](const AxisRef& axis) { return IsOf(axis, manual); };
  for (NamedSharding::Dim& dim : sharding.dims) std::erase_if(dim.axes, is_manual);
  std::erase_if(sharding.replicated, is_manual);
  std::erase_if(sharding.unreduced, is_manual);
  return Classic(region, std::move(sharding), shape);
}

DimVec OpenDimsOf(const NamedSharding& sharding) {
  DimVec open;
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    if (sharding.dims[d].open) open.push_back(static_cast<int64_t>(d));
  }
  return open;
}

Sharding WholeIn(const ManualRegion& region, Shape shape) {
  const auto leaf = [&](Shape array) {
    if (array.IsBuffer()) array = array.element(0);
    NamedSharding whole;
    whole.mesh = region.mesh;
    for (const std::string& name : region.axes)
      whole.manual.push_back({region.mesh.FindAxis(name)});
    return ClassicForm(whole, array.IsArray() ? array.rank() : 0);
  };
  if (!shape.IsTuple()) return Sharding::Of(leaf(shape));
  std::vector<Sharding::Leaf> leaves;
  for (const Shape array : LeafShapes(shape)) leaves.push_back(leaf(array));
  if (leaves.empty()) leaves.push_back(leaf(shape));
  return Sharding::Tuple(std::move(leaves));
}

absl::Status CheckLocalShape(const ManualRegion& region, const ManualRegion& outer,
                             const NamedSharding& sharding, Shape whole, Shape part) {
  NamedSharding given = sharding;
  GiveMesh(region, given);
  ASSIGN_OR_RETURN(const std::vector<AxisRef> manual, AxesIn(given.mesh, region));
  ASSIGN_OR_RETURN(const std::vector<AxisRef> before, AxesIn(given.mesh, outer));
  if (whole.rank() != part.rank() || given.dims.size() != static_cast<size_t>(whole.rank()))
    return Error("{} dimensions, of `{}` and `{}`", given.dims.size(), whole, part);
  for (int d = 0; d < whole.rank(); ++d) {
    int64_t parts = 1;
    for (const AxisRef& axis : given.dims[static_cast<size_t>(d)].axes) {
      if (IsOf(axis, manual) && !IsOf(axis, before)) parts *= axis.SizeIn(given.mesh);
    }
    if (whole.dim(d) % parts == 0 && whole.dim(d) / parts == part.dim(d)) continue;
    return Error("dimension {} of `{}` in {} parts is not that of `{}`", d, whole.WithoutLayout(),
                 parts, part.WithoutLayout());
  }
  return absl::OkStatus();
}

}  // namespace hlo
