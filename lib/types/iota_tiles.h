// `[2,4]<=[4,2]T(1,0)`: device ids as a transposed and reshaped iota. Used by shardings and replica
// groups.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/layout.h"

namespace hlo {

struct IotaTiles {
  DimVec dims;          // final dimensions
  DimVec reshape_dims;  // iota array before the transpose
  DimVec transpose;     // permutation of reshape_dims
  friend bool operator==(const IotaTiles&, const IotaTiles&) = default;

  // Canonical form: size-1 reshape dimensions dropped, dimensions that stay adjacent merged.
  static IotaTiles Make(DimVec dims, DimVec reshape_dims, DimVec transpose);
  // Make after a check of sizes and permutation; an empty `transpose` means none.
  static absl::StatusOr<IotaTiles> MakeChecked(DimVec dims, DimVec reshape_dims, DimVec transpose);
  bool is_identity() const { return reshape_dims.size() <= 1; }
  int64_t device_count() const;
  // The same devices with the dimensions of `dims` permuted (r.dims[i] = dims[order[i]]), if that
  // is an iota again.
  std::optional<IotaTiles> Transposed(absl::Span<const int64_t> order) const;
  // The same devices in the same order under other dimensions of equal product.
  IotaTiles Reshaped(DimVec new_dims) const {
    return {std::move(new_dims), reshape_dims, transpose};
  }
  // Device ids in row-major order of `dims`.
  std::vector<int64_t> Devices() const;
  // "<=[4,2]T(1,0)" (without the dims)
  std::string SourceText() const;
  void AppendSource(std::string& out) const;
};

// Named mesh of devices: mesh['a'=2,'b'=4], device_ids=(…)
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;
  std::optional<int64_t> maximal_device;  // maximal_mesh[device_id=N]
  std::vector<int64_t> device_ids;        // explicit list, empty: iota
  std::optional<IotaTiles> device_iota;   // `([2,2]T(1,0))`
  friend bool operator==(const Mesh&, const Mesh&) = default;
  int64_t device_count() const;
  std::vector<int64_t> Devices() const;
  // Devices 0, 1, 2, … in order of the axes.
  bool has_default_order() const;
  // Drops a device order that is 0, 1, 2, … written as an iota.
  void Canonicalize();
  // Sizes, names and device ids are sound.
  absl::Status Validate() const;
  // The axis with this name, or -1.
  int64_t FindAxis(std::string_view name) const;
  // "mesh['a'=2,'b'=4], device_ids=(0,2,1,3)"
  std::string ToString() const;
};

// An axis of a mesh or a part of one: 'a' or 'a':(pre)size.
struct AxisRef {
  int64_t axis = 0;  // index in Mesh::axes
  int64_t pre_size = 0;
  int64_t size = 0;  // 0: the whole axis
  friend bool operator==(const AxisRef&, const AxisRef&) = default;
  bool is_sub_axis() const { return size != 0; }
  std::string ToString(const Mesh& mesh) const;
  void AppendTo(const Mesh& mesh, std::string& out) const;
  // Size of the part.
  int64_t SizeIn(const Mesh& mesh) const { return is_sub_axis() ? size : mesh.axes[axis].size; }
};

// The axes of the mesh, cut wherever a part in `refs` begins or ends; major to minor. Parts have
// their `size` set always.
std::vector<AxisRef> SplitAxes(const Mesh& mesh, absl::Span<const AxisRef> refs);
// Parts exist, divide their axis, do not overlap, and neighbours in the list that could be one part
// are one.
absl::Status ValidateAxes(const Mesh& mesh, absl::Span<const AxisRef> refs);
// No two of these (sound) parts overlap.
absl::Status ValidateDisjoint(const Mesh& mesh, absl::Span<const AxisRef> refs);

}  // namespace hlo
