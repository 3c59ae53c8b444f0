// lib/types/mesh.cc
//
// Named meshes of devices and parts of their axes.
#include <algorithm>
#include <set>

#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "lib/types/append.h"
#include "lib/types/iota_tiles.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

DimVec AxisSizes(const Mesh& mesh) {
  DimVec sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  return sizes;
}

// Where the part begins and ends, as products of sizes from the major side.
std::pair<int64_t, int64_t> Extent(const Mesh& mesh, const AxisRef& ref) {
  if (!ref.is_sub_axis()) return {1, mesh.axes[ref.axis].size};
  return {ref.pre_size, ref.pre_size * ref.size};
}

absl::Status ValidateAxis(const Mesh& mesh, const AxisRef& ref) {
  if (ref.axis < 0 || ref.axis >= static_cast<int64_t>(mesh.axes.size())) {
    return Error("axis {} is not one of the {} axes of `{}`", ref.axis, mesh.axes.size(),
                 mesh.ToString());
  }
  if (!ref.is_sub_axis()) return absl::OkStatus();
  const MeshAxis& axis = mesh.axes[ref.axis];
  const std::string text = ref.ToString(mesh);
  if (ref.pre_size < 1) return Error("`{}` begins at {}, expected at least 1", text, ref.pre_size);
  if (ref.size < 2) return Error("`{}` has size {}, expected at least 2", text, ref.size);
  if (ref.size >= axis.size) {
    return Error("`{}` has size {}, expected less than the whole axis ({})", text, ref.size,
                 axis.size);
  }
  int64_t end;
  if (__builtin_mul_overflow(ref.pre_size, ref.size, &end) || axis.size % end != 0) {
    return Error("`{}` does not divide axis `{}` of size {}", text, axis.name, axis.size);
  }
  return absl::OkStatus();
}

// In single quotes as it stands; escaped only where it would not read back.
void AppendAxisName(std::string_view name, std::string& out) {
  out += '\'';
  if (name.find_first_of("'\\") == std::string_view::npos) {
    out += name;
  } else {
    out += CEscape(name);
  }
  out += '\'';
}

}  // namespace

int64_t Mesh::device_count() const {
  return maximal_device.has_value() ? 1 : Product(AxisSizes(*this));
}

std::vector<int64_t> Mesh::Devices() const {
  if (maximal_device.has_value()) return {*maximal_device};
  if (!device_ids.empty()) return device_ids;
  if (device_iota.has_value()) return device_iota->Devices();
  std::vector<int64_t> devices(device_count());
  for (size_t i = 0; i < devices.size(); ++i) devices[i] = static_cast<int64_t>(i);
  return devices;
}

bool Mesh::has_default_order() const {
  return !maximal_device.has_value() && device_ids.empty() &&
         (!device_iota.has_value() || device_iota->is_identity());
}

void Mesh::Canonicalize() {
  if (device_iota.has_value() && device_iota->is_identity()) device_iota.reset();
}

absl::Status Mesh::Validate() const {
  if (maximal_device.has_value()) {
    if (*maximal_device < 0)
      return Error("device {} of `{}` is negative", *maximal_device, ToString());
    return absl::OkStatus();
  }
  std::set<std::string_view> names;
  for (const MeshAxis& axis : axes) {
    if (!names.insert(axis.name).second)
      return Error("`{}` has two axes `{}`", ToString(), axis.name);
    if (axis.size < 1) {
      return Error("axis `{}` of `{}` has size {}, expected at least 1", axis.name, ToString(),
                   axis.size);
    }
  }
  const std::optional<int64_t> count = CheckedProduct(AxisSizes(*this));
  if (!count.has_value()) return Error("size of `{}` overflows 64 bits", ToString());
  if (device_iota.has_value() && device_iota->device_count() != *count) {
    return Error("`device_ids` of `{}` has {} devices, expected {} as the axes have", ToString(),
                 device_iota->device_count(), *count);
  }
  if (device_ids.empty()) return absl::OkStatus();
  if (static_cast<int64_t>(device_ids.size()) != *count) {
    return Error("`device_ids` of `{}` has {} devices, expected {} as the axes have", ToString(),
                 device_ids.size(), *count);
  }
  if (!IsPermutation(device_ids, *count)) {
    return Error("`device_ids` of `{}` is not a permutation of 0 to {}", ToString(), *count - 1);
  }
  if (std::is_sorted(device_ids.begin(), device_ids.end())) {
    return Error("`device_ids` of `{}` is the default order; leave it out", ToString());
  }
  return absl::OkStatus();
}

int64_t Mesh::FindAxis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string Mesh::ToString() const {
  std::string out;
  if (maximal_device.has_value()) {
    out += "maximal_mesh[device_id=";
    AppendInt(*maximal_device, out);
    out += ']';
    return out;
  }
  out += "mesh[";
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) out += ',';
    AppendAxisName(axes[i].name, out);
    out += '=';
    AppendInt(axes[i].size, out);
  }
  out += ']';
  if (has_default_order()) return out;
  out += ", device_ids=(";
  if (!device_ids.empty()) {
    AppendInts(device_ids, out);
  } else {
    out += device_iota->SourceText().substr(2);  // without `<=`
  }
  out += ')';
  return out;
}

void AxisRef::AppendTo(const Mesh& mesh, std::string& out) const {
  AppendAxisName(mesh.axes[axis].name, out);
  if (!is_sub_axis()) return;
  out += ":(";
  AppendInt(pre_size, out);
  out += ')';
  AppendInt(size, out);
}

std::string AxisRef::ToString(const Mesh& mesh) const {
  std::string out;
  AppendTo(mesh, out);
  return out;
}

std::vector<AxisRef> SplitAxes(const Mesh& mesh, absl::Span<const AxisRef> refs) {
  std::vector<AxisRef> parts;
  for (int64_t axis = 0; axis < static_cast<int64_t>(mesh.axes.size()); ++axis) {
    std::set<int64_t> cuts = {1, mesh.axes[axis].size};
    for (const AxisRef& ref : refs) {
      if (ref.axis != axis) continue;
      const auto [begin, end] = Extent(mesh, ref);
      cuts.insert(begin);
      cuts.insert(end);
    }
    int64_t begin = 1;
    for (const int64_t end : cuts) {
      if (end != begin) parts.push_back({axis, begin, end / begin});
      begin = end;
    }
  }
  return parts;
}

absl::Status ValidateDisjoint(const Mesh& mesh, absl::Span<const AxisRef> refs) {
  for (size_t i = 0; i < refs.size(); ++i) {
    const auto [begin, end] = Extent(mesh, refs[i]);
    for (size_t j = 0; j < refs.size(); ++j) {
      if (j == i || refs[j].axis != refs[i].axis) continue;
      const int64_t other_begin = Extent(mesh, refs[j]).first;
      // The one that begins first must end at a divisor of where the other begins.
      if (refs[i] == refs[j] || (begin <= other_begin && other_begin % end != 0)) {
        return Error("`{}` and `{}` overlap", refs[i].ToString(mesh), refs[j].ToString(mesh));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateAxes(const Mesh& mesh, absl::Span<const AxisRef> refs) {
  for (const AxisRef& ref : refs) RETURN_IF_ERROR(ValidateAxis(mesh, ref));
  RETURN_IF_ERROR(ValidateDisjoint(mesh, refs));
  for (size_t i = 1; i < refs.size(); ++i) {
    const bool touch = refs[i].axis == refs[i - 1].axis &&
                       Extent(mesh, refs[i - 1]).second == Extent(mesh, refs[i]).first;
    if (touch) {
      return Error("`{}` and `{}` are neighbours; write them as one part",
                   refs[i - 1].ToString(mesh), refs[i].ToString(mesh));
    }
  }
  return absl::OkStatus();
}

}  // namespace hlo
