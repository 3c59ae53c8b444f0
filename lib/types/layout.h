// How an array lies in memory: order of dimensions (minor first), tiles, memory space, padding. A
// plain value. Defaults are "row-major, nothing special"; only non-defaults print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "lib/types/element_type.h"

namespace hlo {

using DimVec = absl::InlinedVector<int64_t, 6>;

struct Tile {
  static constexpr int64_t kCombine = INT64_MIN;  // `*`: combine with the next more minor dimension
  DimVec dims;
  friend bool operator==(const Tile&, const Tile&) = default;
};

struct SplitConfig {
  int64_t dimension = 0;  // physical dimension
  DimVec indices;
  friend bool operator==(const SplitConfig&, const SplitConfig&) = default;
};

struct Layout {
  DimVec minor_to_major;
  std::vector<Tile> tiles;
  std::vector<SplitConfig> split_configs;
  int64_t tail_padding_alignment = 1;               // L
  int64_t element_size_in_bits = 0;                 // E
  int64_t memory_space = 0;                         // S
  int64_t dynamic_shape_metadata_prefix_bytes = 0;  // M
  std::optional<ElementType> index_type;            // #
  std::optional<ElementType> pointer_type;          // *

  friend bool operator==(const Layout&, const Layout&) = default;

  // {rank-1, …, 1, 0}
  static Layout RowMajor(int rank);
  static Layout FromMinorToMajor(absl::Span<const int64_t> order);
  bool IsRowMajor() const;
  // Anything besides minor_to_major that is not the default.
  bool HasProperties() const;
  // "{1,0:T(8,128)S(1)}"
  std::string ToString() const;
  void AppendTo(std::string& out) const;
  uint64_t Hash() const;
};

}  // namespace hlo
