// lib/types/sharding_named.cc
//
// Shardings in terms of mesh axes: questions and soundness.
#include <algorithm>

#include "lib/support/status.h"
#include "lib/types/sharding.h"

namespace hlo {
namespace {

// Whether the axes cover the mesh whole.
bool CoversMesh(const Mesh& mesh, const std::vector<AxisRef>& refs) {
  if (mesh.axes.empty()) return false;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    int64_t covered = 1;
    for (const AxisRef& ref : refs) {
      if (ref.axis == static_cast<int64_t>(axis)) covered *= ref.SizeIn(mesh);
    }
    if (covered != mesh.axes[axis].size) return false;
  }
  return true;
}

bool LessAxis(const AxisRef& a, const AxisRef& b) {
  return a.axis != b.axis ? a.axis < b.axis : a.pre_size < b.pre_size;
}

absl::Status ValidateSorted(std::string_view name, const std::vector<AxisRef>& refs) {
  if (std::is_sorted(refs.begin(), refs.end(), LessAxis)) return absl::OkStatus();
  return Error("axes of `{}` are not in the order of the mesh", name);
}

}  // namespace

bool NamedSharding::IsReplicated() const {
  if (mesh.maximal_device.has_value() || !unreduced.empty() || !manual.empty()) return false;
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.axes.empty(); });
}

bool NamedSharding::IsManual() const { return dims.empty() && CoversMesh(mesh, manual); }
bool NamedSharding::IsUnreduced() const { return dims.empty() && CoversMesh(mesh, unreduced); }

absl::Status NamedSharding::Validate() const {
  RETURN_IF_ERROR(mesh.Validate());
  std::vector<AxisRef> all;
  for (const Dim& dim : dims) {
    RETURN_IF_ERROR(ValidateAxes(mesh, dim.axes));  // neighbours matter inside one list only
    all.insert(all.end(), dim.axes.begin(), dim.axes.end());
  }
  const std::pair<std::string_view, const std::vector<AxisRef>*> lists[] = {
      {"replicated", &replicated}, {"unreduced", &unreduced}, {"manual", &manual}};
  for (const auto& [name, list] : lists) {
    RETURN_IF_ERROR(ValidateAxes(mesh, *list));
    RETURN_IF_ERROR(ValidateSorted(name, *list));
    all.insert(all.end(), list->begin(), list->end());
  }
  return ValidateDisjoint(mesh, all);
}

}  // namespace hlo
