// Groups of devices that take part in one collective, in the form the text gave: lists (V1), iota
// (V2) or mesh axes (V3).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/iota_tiles.h"

namespace hlo {

struct MeshGroups {
  Mesh mesh;
  std::vector<AxisRef> axes;
  friend bool operator==(const MeshGroups&, const MeshGroups&) = default;
};

struct ReplicaGroups {
  using Lists = std::vector<std::vector<int64_t>>;
  std::variant<Lists, IotaTiles, MeshGroups> form;
  friend bool operator==(const ReplicaGroups&, const ReplicaGroups&) = default;

  // The groups as plain lists. Empty: all devices are one group.
  Lists Flatten() const;
  // Dimensions of an iota, axes of a mesh and device ids are sound; no device is in two groups.
  absl::Status Validate() const;
  // "{{0,1},{2,3}}", "[2,4]<=[8]", "mesh['a'=2] {'a'}"; as_lists prints the first form always.
  std::string ToString(bool as_lists = false) const;
  void AppendTo(std::string& out, bool as_lists = false) const;
};

}  // namespace hlo
