// lib/types/layout.cc
//
// Making, asking, hashing and printing layouts.
#include "lib/types/layout.h"

#include "lib/support/hash.h"
#include "lib/types/append.h"

namespace hlo {
namespace {

void AppendTiles(const std::vector<Tile>& tiles, std::string& out) {
  if (tiles.empty()) return;
  out += 'T';
  for (const Tile& tile : tiles) {
    out += '(';
    for (size_t i = 0; i < tile.dims.size(); ++i) {
      if (i > 0) out += ',';
      if (tile.dims[i] == Tile::kCombine) {
        out += '*';
      } else {
        AppendInt(tile.dims[i], out);
      }
    }
    out += ')';
  }
}

void AppendNumber(std::string_view name, int64_t value, std::string& out) {
  out += name;
  out += '(';
  AppendInt(value, out);
  out += ')';
}

// Only integer types have a meaning here; others print so that nobody takes them for one.
void AppendType(char name, ElementType type, std::string& out) {
  out += name;
  out += '(';
  out += IsInteger(type) ? Text(type) : std::string_view("invalid");
  out += ')';
}

void AppendSplits(const std::vector<SplitConfig>& configs, std::string& out) {
  if (configs.empty()) return;
  out += "SC";
  for (const SplitConfig& config : configs) {
    out += '(';
    AppendInt(config.dimension, out);
    out += ':';
    AppendInts(config.indices, out);
    out += ')';
  }
}

}  // namespace

Layout Layout::RowMajor(int rank) {
  Layout layout;
  layout.minor_to_major.resize(rank);
  for (int i = 0; i < rank; ++i) layout.minor_to_major[i] = rank - 1 - i;
  return layout;
}

Layout Layout::FromMinorToMajor(absl::Span<const int64_t> order) {
  Layout layout;
  layout.minor_to_major.assign(order.begin(), order.end());
  return layout;
}

bool Layout::IsRowMajor() const {
  int64_t expected = static_cast<int64_t>(minor_to_major.size());
  for (const int64_t dim : minor_to_major) {
    if (dim != --expected) return false;
  }
  return true;
}

bool Layout::HasProperties() const {
  return !tiles.empty() || !split_configs.empty() || tail_padding_alignment != 1 ||
         element_size_in_bits != 0 || memory_space != 0 ||
         dynamic_shape_metadata_prefix_bytes != 0 || index_type.has_value() ||
         pointer_type.has_value();
}

std::string Layout::ToString() const {
  std::string out;
  AppendTo(out);
  return out;
}

void Layout::AppendTo(std::string& out) const {
  out += '{';
  AppendInts(minor_to_major, out);
  if (HasProperties()) {
    out += ':';
    AppendTiles(tiles, out);
    if (tail_padding_alignment != 1) AppendNumber("L", tail_padding_alignment, out);
    if (index_type.has_value()) AppendType('#', *index_type, out);
    if (pointer_type.has_value()) AppendType('*', *pointer_type, out);
    if (element_size_in_bits != 0) AppendNumber("E", element_size_in_bits, out);
    if (memory_space != 0) AppendNumber("S", memory_space, out);
    AppendSplits(split_configs, out);
    if (dynamic_shape_metadata_prefix_bytes > 0) {
      AppendNumber("M", dynamic_shape_metadata_prefix_bytes, out);
    }
  }
  out += '}';
}

uint64_t Layout::Hash() const {
  uint64_t h = minor_to_major.size();
  for (const int64_t dim : minor_to_major) h = HashMix(h, dim);
  if (!HasProperties()) return h;
  for (const Tile& tile : tiles) {
    h = HashMix(h, tile.dims.size());
    for (const int64_t dim : tile.dims) h = HashMix(h, dim);
  }
  for (const SplitConfig& config : split_configs) {
    h = HashMix(HashMix(h, config.dimension), config.indices.size());
    for (const int64_t index : config.indices) h = HashMix(h, index);
  }
  h = HashMix(h, tail_padding_alignment);
  h = HashMix(h, element_size_in_bits);
  h = HashMix(h, memory_space);
  h = HashMix(h, dynamic_shape_metadata_prefix_bytes);
  h = HashMix(h, index_type.has_value() ? 1 + static_cast<uint64_t>(*index_type) : 0);
  return HashMix(h, pointer_type.has_value() ? 1 + static_cast<uint64_t>(*pointer_type) : 0);
}

}  // namespace hlo
