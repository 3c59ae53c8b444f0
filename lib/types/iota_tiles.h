// `[2,4]<=[4,2]T(1,0)`: device ids as a transposed and reshaped iota. Used by shardings and replica groups.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/types/layout.h"

namespace hlo {

struct IotaTiles {
  DimVec dims;          // final dimensions
  DimVec reshape_dims;  // iota array before the transpose
  DimVec transpose;     // permutation of reshape_dims
  friend bool operator==(const IotaTiles&, const IotaTiles&) = default;

  // Canonical form: size-1 reshape dimensions dropped, dimensions that stay adjacent merged.
  static IotaTiles Make(DimVec dims, DimVec reshape_dims, DimVec transpose);
  // Device ids in row-major order of `dims`.
  std::vector<int64_t> Devices() const;
  // "<=[4,2]T(1,0)" (without the dims)
  std::string SourceText() const;
};

// Named mesh of devices: mesh['a'=2,'b'=4], device_ids=(…)
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;
  std::optional<int64_t> maximal_device;               // maximal_mesh[device_id=N]
  std::vector<int64_t> device_ids;                     // explicit list, empty: iota
  std::optional<IotaTiles> device_iota;                // `([2,2]T(1,0))`
  friend bool operator==(const Mesh&, const Mesh&) = default;
  int64_t device_count() const;
  std::vector<int64_t> Devices() const;
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
};

}  // namespace hlo
