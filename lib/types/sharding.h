// How a value is split over devices. Classic (replicated, maximal, manual, unknown, unreduced,
// tiled with subgroups) or named (mesh axes); tuples hold a flat list of leaves.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/iota_tiles.h"
#include "lib/types/metadata.h"

namespace hlo {

enum class SubgroupType { kManual, kReplicated, kMaximal, kUnreduced };
enum class ShardGroupKind { kNone, kAs, kLike };
enum class ReductionKind { kSum, kMax, kMin };

// A sharding of one array in the classic form.
struct TiledSharding {
  enum class Kind { kReplicated, kMaximal, kManual, kUnknown, kUnreduced, kTiled };
  Kind kind = Kind::kReplicated;
  int64_t maximal_device = 0;
  DimVec tile_dims;              // kTiled: number of tiles per dimension, subgroup dimensions last
  std::vector<int64_t> devices;  // explicit list, empty when iota is used
  std::optional<IotaTiles> iota;
  bool last_tile_dim_replicate = false;
  std::vector<SubgroupType> last_tile_dims;
  ShardGroupKind group_kind = ShardGroupKind::kNone;
  int64_t group_id = -1;
  ReductionKind reduction = ReductionKind::kSum;
  std::vector<OpMetadata> metadata;
  friend bool operator==(const TiledSharding&, const TiledSharding&) = default;
  // Canonical form on construction (subgroups merged, full replication recognised …).
  static TiledSharding Canonical(TiledSharding sharding);
  std::vector<int64_t> Devices() const;
  // What the text may say, before Canonical: device counts match the tiles, subgroups match the
  // dimensions.
  absl::Status Validate() const;
  // Number of dimensions of `tile_dims` that belong to data.
  int64_t data_rank() const;
};

// A sharding of one array in terms of mesh axes.
struct NamedSharding {
  struct Dim {
    std::vector<AxisRef> axes;
    bool open = false;  // `?`
    friend bool operator==(const Dim&, const Dim&) = default;
  };
  Mesh mesh;
  std::vector<Dim> dims;
  std::vector<AxisRef> replicated;
  std::vector<AxisRef> unreduced;
  ReductionKind unreduced_kind = ReductionKind::kSum;
  std::vector<AxisRef> manual;
  std::vector<OpMetadata> metadata;
  friend bool operator==(const NamedSharding&, const NamedSharding&) = default;
  // Nothing is split, unreduced or manual.
  bool IsReplicated() const;
  // No dimensions, and all axes are manual (unreduced).
  bool IsManual() const;
  bool IsUnreduced() const;
  // The mesh is sound, every axis is used at most once, lists of axes are sorted.
  absl::Status Validate() const;
};

struct Sharding {
  using Leaf = std::variant<TiledSharding, NamedSharding>;
  bool is_tuple = false;
  std::vector<Leaf> leaves;  // exactly one unless is_tuple
  friend bool operator==(const Sharding&, const Sharding&) = default;

  static Sharding Replicated();
  static Sharding Maximal(int64_t device);
  static Sharding Manual();
  static Sharding Of(Leaf leaf);
  static Sharding Tuple(std::vector<Leaf> leaves);
  bool IsReplicated() const;  // all leaves
  bool IsManual() const;
  // "{devices=[2,2]<=[4]}", "{{replicated}, {manual}}"
  std::string ToString(bool with_metadata = false) const;
  void AppendTo(std::string& out, bool with_metadata = false) const;
};

}  // namespace hlo
