// lib/types/replica_groups.cc
#include "lib/types/replica_groups.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "lib/support/status.h"
#include "lib/types/append.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Lists = ReplicaGroups::Lists;

// Consecutive devices form groups of `size`.
Lists Chunks(const std::vector<int64_t>& devices, int64_t size) {
  Lists groups;
  if (size <= 0) return groups;
  for (size_t begin = 0; begin + size <= devices.size(); begin += size) {
    groups.emplace_back(devices.begin() + begin, devices.begin() + begin + size);
  }
  return groups;
}

Lists FlattenIota(const IotaTiles& iota) {
  return iota.dims.empty() ? Lists() : Chunks(iota.Devices(), iota.dims.back());
}

// The listed axes vary inside a group, the first one slowest; the others, in order of the mesh,
// count the groups.
Lists FlattenMesh(const MeshGroups& groups) {
  const std::vector<AxisRef> parts = SplitAxes(groups.mesh, groups.axes);
  DimVec sizes;
  for (const AxisRef& part : parts) sizes.push_back(part.size);
  DimVec inner;
  for (const AxisRef& ref : groups.axes) {
    const int64_t begin = ref.is_sub_axis() ? ref.pre_size : 1;
    const int64_t end = begin * ref.SizeIn(groups.mesh);
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool inside =
          parts[i].axis == ref.axis && parts[i].pre_size >= begin && parts[i].pre_size < end;
      if (inside) inner.push_back(static_cast<int64_t>(i));
    }
  }
  DimVec order;
  for (int64_t i = 0; i < static_cast<int64_t>(parts.size()); ++i) {
    if (std::find(inner.begin(), inner.end(), i) == inner.end()) order.push_back(i);
  }
  order.insert(order.end(), inner.begin(), inner.end());

  const std::vector<int64_t> devices = groups.mesh.Devices();
  if (static_cast<int64_t>(devices.size()) != Product(sizes)) return {};  // not valid
  const DimVec strides = Permute(RowMajorStrides(sizes), order);
  const DimVec permuted = Permute(sizes, order);
  std::vector<int64_t> arranged;
  DimVec index(permuted.size(), 0);
  do {
    arranged.push_back(
        devices[std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0})]);
  } while (NextIndex(absl::MakeSpan(index), permuted));
  return Chunks(arranged, Product(Permute(sizes, inner)));
}

void AppendLists(const Lists& groups, std::string& out) {
  constexpr std::string_view kOpen = "{{", kBetween = "},{", kClose = "}}", kNone = "{}";
  for (size_t i = 0; i < groups.size(); ++i) {
    out += i > 0 ? kBetween : kOpen;
    AppendInts(groups[i], out);
  }
  out += groups.empty() ? kNone : kClose;
}

absl::Status ValidateIota(const IotaTiles& iota) {
  if (iota.dims.size() != 2) {
    return Error("replica groups have {} dimensions, expected groups and devices of a group",
                 iota.dims.size());
  }
  if (Product(iota.dims) != iota.device_count()) {
    return Error("replica groups name {} devices, but their dimensions hold {}",
                 iota.device_count(), Product(iota.dims));
  }
  return absl::OkStatus();
}

absl::Status ValidateLists(const Lists& groups) {
  absl::flat_hash_set<int64_t> seen;
  for (const auto& group : groups) {
    for (const int64_t device : group) {
      if (device < 0) return Error("device {} in replica groups is negative", device);
      if (!seen.insert(device).second) return Error("device {} is in replica groups twice", device);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Lists ReplicaGroups::Flatten() const {
  if (const auto* iota = std::get_if<IotaTiles>(&form)) return FlattenIota(*iota);
  if (const auto* mesh = std::get_if<MeshGroups>(&form)) return FlattenMesh(*mesh);
  return std::get<Lists>(form);
}

absl::Status ReplicaGroups::Validate() const {
  if (const auto* iota = std::get_if<IotaTiles>(&form)) return ValidateIota(*iota);
  if (const auto* mesh = std::get_if<MeshGroups>(&form)) {
    RETURN_IF_ERROR(mesh->mesh.Validate());
    return ValidateAxes(mesh->mesh, mesh->axes);
  }
  return ValidateLists(std::get<Lists>(form));
}

std::string ReplicaGroups::ToString(bool as_lists) const {
  std::string out;
  AppendTo(out, as_lists);
  return out;
}

void ReplicaGroups::AppendTo(std::string& out, bool as_lists) const {
  if (const auto* lists = std::get_if<Lists>(&form)) return AppendLists(*lists, out);
  if (as_lists) return AppendLists(Flatten(), out);
  if (const auto* iota = std::get_if<IotaTiles>(&form)) {
    out += '[';
    AppendInts(iota->dims, out);
    out += ']';
    iota->AppendSource(out);
    return;
  }
  const auto& groups = std::get<MeshGroups>(form);
  out += groups.mesh.ToString();
  out += " {";
  for (size_t i = 0; i < groups.axes.size(); ++i) {
    if (i > 0) out += ',';
    groups.axes[i].AppendTo(groups.mesh, out);
  }
  out += '}';
}

}  // namespace hlo
