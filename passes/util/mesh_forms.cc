#include "passes/util/mesh_forms.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"
#include "passes/util/sharding_algebra.h"

namespace hlo {
namespace {

// Devices `stride` apart, `size` of them: a part of an axis.
struct DeviceRun {
  int64_t stride;
  int64_t size;
};

// Cuts devices 0 .. count - 1 wherever an axis of the mesh or a dimension of the iota begins, and
// lists the runs in the order of the tiles. None if a cut is inside another's step.
std::optional<std::vector<DeviceRun>> RunsOf(const IotaTiles& iota, const Mesh& mesh) {
  std::set<int64_t, std::greater<>> cuts = {1};
  const auto add_cuts = [&](auto sizes) {
    int64_t stride = 1;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) cuts.insert(stride *= *size);
  };
  DimVec axes;
  for (const MeshAxis& axis : mesh.axes) axes.push_back(axis.size);
  add_cuts(axes);
  add_cuts(iota.reshape_dims);
  const DimVec strides = RowMajorStrides(iota.reshape_dims);
  std::vector<DeviceRun> runs;
  for (const int64_t dim : iota.transpose) {
    int64_t end = strides[dim] * iota.reshape_dims[dim];
    for (const int64_t cut : cuts) {
      if (cut >= end || cut < strides[dim]) continue;
      if (end % cut != 0) return std::nullopt;
      runs.push_back({cut, end / cut});
      end = cut;
    }
  }
  return runs;
}

// The axis that the run is part of.
AxisRef AxisOf(const DeviceRun& run, const Mesh& mesh) {
  int64_t stride = mesh.device_count();
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const int64_t end = stride;
    stride /= mesh.axes[axis].size;
    if (run.stride < stride) continue;
    return {static_cast<int64_t>(axis), end / (run.stride * run.size), run.size};
  }
  return {};
}

// Neighbouring parts are one part, and all parts the axis.
void AppendAxis(AxisRef axis, const Mesh& mesh, std::vector<AxisRef>& axes) {
  if (!axes.empty() && axes.back().axis == axis.axis && axes.back().is_sub_axis() &&
      axes.back().pre_size * axes.back().size == axis.pre_size) {
    axis = {axis.axis, axes.back().pre_size, axes.back().size * axis.size};
    axes.pop_back();
  }
  if (axis.size == mesh.axes[axis.axis].size) axis.pre_size = axis.size = 0;
  axes.push_back(axis);
}

// The next runs that make `tiles` tiles; the rest of one that is longer stays.
bool TakeAxes(std::vector<DeviceRun>& runs, int64_t tiles, const Mesh& mesh,
              std::vector<AxisRef>& axes) {
  while (tiles > 1) {
    if (runs.empty()) return false;
    DeviceRun run = runs.front();
    if (tiles % run.size == 0) {
      runs.erase(runs.begin());
    } else if (run.size % tiles == 0) {
      runs.front().size /= tiles;
      run = {run.stride * runs.front().size, tiles};
    } else {
      return false;
    }
    tiles /= run.size;
    AppendAxis(AxisOf(run, mesh), mesh, axes);
  }
  return true;
}

}  // namespace

TiledSharding ClassicForm(const NamedSharding& sharding, int64_t rank) {
  TiledSharding result;
  result.metadata = sharding.metadata;
  result.reduction = sharding.unreduced_kind;
  const Mesh& mesh = sharding.mesh;
  if (mesh.maximal_device.has_value()) {
    result.kind = TiledSharding::Kind::kMaximal;
    result.maximal_device = *mesh.maximal_device;
    return result;
  }
  if (sharding.IsManual() || sharding.IsUnreduced() || sharding.IsReplicated()) {
    if (sharding.IsManual()) result.kind = TiledSharding::Kind::kManual;
    if (sharding.IsUnreduced()) result.kind = TiledSharding::Kind::kUnreduced;
    return result;
  }
  // The parts of axes in the order of the tiles: those of the dimensions, then the subgroups.
  std::vector<AxisRef> used;
  const auto add = [&](const std::vector<AxisRef>& axes) {
    int64_t size = 1;
    for (const AxisRef& axis : axes) {
      used.push_back(axis);
      size *= axis.SizeIn(mesh);
    }
    result.tile_dims.push_back(size);
  };
  for (const NamedSharding::Dim& dim : sharding.dims) add(dim.axes);
  result.tile_dims.resize(static_cast<size_t>(rank), 1);
  add(sharding.manual);
  add(sharding.unreduced);
  const int64_t left = mesh.device_count() / Product(result.tile_dims);
  result.tile_dims.push_back(left);
  // The mesh as an array of parts, and where each part stands in it.
  const std::vector<AxisRef> parts = SplitAxes(mesh, used);
  DimVec sizes, order;
  for (const AxisRef& part : parts) sizes.push_back(part.SizeIn(mesh));
  const auto end_of = [&](const AxisRef& axis) {
    return axis.is_sub_axis() ? axis.pre_size * axis.size : mesh.axes[axis.axis].size;
  };
  for (const AxisRef& axis : used) {
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].axis == axis.axis && parts[p].pre_size >= std::max<int64_t>(axis.pre_size, 1) &&
          end_of(parts[p]) <= end_of(axis))
        order.push_back(static_cast<int64_t>(p));
    }
  }
  for (int64_t p = 0; p < static_cast<int64_t>(parts.size()); ++p) {
    if (!absl::c_linear_search(order, p)) order.push_back(p);
  }
  result.kind = TiledSharding::Kind::kTiled;
  DimVec tiles = result.tile_dims;
  result.tile_dims = sizes;
  if (mesh.device_iota.has_value() && mesh.device_ids.empty()) {
    result.iota = mesh.device_iota->Reshaped(sizes);
  } else if (mesh.device_ids.empty()) {
    result.iota = IotaTiles::Make(sizes, {mesh.device_count()}, {0});
  } else {
    result.devices = mesh.device_ids;
  }
  return WithSubgroups(
      WithTileDims(WithTilesTransposed(result, order), std::move(tiles)),
      {SubgroupType::kManual, SubgroupType::kUnreduced, SubgroupType::kReplicated});
}

std::optional<NamedSharding> MeshForm(const TiledSharding& sharding, const Mesh& mesh) {
  if (!IsTiled(sharding) || !sharding.iota.has_value() || !mesh.has_default_order() ||
      DeviceCount(sharding) != mesh.device_count())
    return std::nullopt;
  std::optional<std::vector<DeviceRun>> runs = RunsOf(*sharding.iota, mesh);
  if (!runs.has_value()) return std::nullopt;
  NamedSharding named;
  named.mesh = mesh;
  named.metadata = sharding.metadata;
  named.unreduced_kind = sharding.reduction;
  const std::vector<SubgroupType> types = Subgroups(sharding);
  for (size_t d = 0; d < sharding.tile_dims.size(); ++d) {
    const auto group = static_cast<int64_t>(d) - sharding.data_rank();
    std::vector<AxisRef> axes;
    if (!TakeAxes(*runs, sharding.tile_dims[d], mesh, axes)) return std::nullopt;
    if (group < 0) {
      named.dims.emplace_back().axes = std::move(axes);
      continue;
    }
    absl::c_sort(axes, [](const AxisRef& a, const AxisRef& b) {
      return a.axis != b.axis ? a.axis < b.axis : a.pre_size < b.pre_size;
    });
    const SubgroupType type = types[static_cast<size_t>(group)];
    if (type == SubgroupType::kManual) named.manual = std::move(axes);
    if (type == SubgroupType::kUnreduced) named.unreduced = std::move(axes);
    if (type == SubgroupType::kMaximal) return std::nullopt;
  }
  if (!named.Validate().ok()) return std::nullopt;
  return named;
}

}  // namespace hlo
