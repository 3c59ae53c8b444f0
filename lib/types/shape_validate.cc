// lib/types/shape_validate.cc
//
// Whether a shape read from text or made by inference is sound.
#include <algorithm>

#include "lib/support/status.h"
#include "lib/types/shape_node.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

absl::Status ValidateDims(Shape shape) {
  DimVec counted;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t size = shape.dim(i);
    if (size == Shape::kUnbounded) continue;
    if (size < 0) return Error("dimension {} of `{}` is negative", i, shape);
    counted.push_back(size);
  }
  counted.push_back(ByteSize(shape.element_type()));
  if (!CheckedProduct(counted).has_value()) {
    return Error("`{}` has more than 2^63 - 1 bytes", shape);
  }
  return absl::OkStatus();
}

absl::Status ValidateTiles(Shape shape, const Layout& layout) {
  for (const Tile& tile : layout.tiles) {
    if (tile.dims.empty()) return Error("layout of `{:l}` has an empty tile", shape);
    for (const int64_t dim : tile.dims) {
      if (dim != Tile::kCombine && dim <= 0) {
        return Error("layout of `{:l}` has a tile of size {}, expected a positive one", shape, dim);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateSplits(Shape shape, const Layout& layout) {
  absl::InlinedVector<bool, 8> seen(shape.rank(), false);
  for (const SplitConfig& config : layout.split_configs) {
    if (config.dimension < 0 || config.dimension >= shape.rank()) {
      return Error("layout of `{:l}` splits dimension {}, but the rank is {}", shape,
                   config.dimension, shape.rank());
    }
    if (seen[config.dimension]) {
      return Error("layout of `{:l}` splits dimension {} twice", shape, config.dimension);
    }
    seen[config.dimension] = true;
    // Physical dimensions count from major.
    const int64_t logical = layout.minor_to_major[shape.rank() - 1 - config.dimension];
    const int64_t size = shape.dim(static_cast<int>(logical));
    int64_t previous = 0;
    for (const int64_t index : config.indices) {
      if (index <= previous || index >= size) {
        return Error(
            "layout of `{:l}` splits dimension {} of size {} at {}, expected rising indices inside "
            "it",
            shape, config.dimension, size, index);
      }
      previous = index;
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateLayout(Shape shape, const Layout& layout) {
  if (static_cast<int>(layout.minor_to_major.size()) != shape.rank()) {
    return Error("layout of `{:l}` orders {} dimensions, but the rank is {}", shape,
                 layout.minor_to_major.size(), shape.rank());
  }
  if (!IsPermutation(layout.minor_to_major, shape.rank())) {
    return Error("layout of `{:l}` is not a permutation of the dimensions", shape);
  }
  if (layout.tail_padding_alignment < 1) {
    return Error("layout of `{:l}` has tail padding alignment {}, expected at least 1", shape,
                 layout.tail_padding_alignment);
  }
  if (layout.index_type.has_value() || layout.pointer_type.has_value()) {
    return Error("layout of `{:l}` has an index or pointer type, which dense arrays do not have",
                 shape);
  }
  if (layout.element_size_in_bits < 0) {
    return Error("layout of `{:l}` has element size {}, expected at least 0", shape,
                 layout.element_size_in_bits);
  }
  if (layout.memory_space < 0 || layout.memory_space > 127) {
    return Error("layout of `{:l}` has memory space {}, expected 0 to 127", shape,
                 layout.memory_space);
  }
  RETURN_IF_ERROR(ValidateTiles(shape, layout));
  return ValidateSplits(shape, layout);
}

}  // namespace

namespace {

absl::Status FindFault(Shape shape) {
  if (shape.IsTuple() || shape.IsBuffer()) {
    for (const Shape element : shape.elements()) {
      if (shape.IsBuffer() && !element.IsArray()) {
        return Error("`{}` is a buffer of `{}`, expected an array", shape, element);
      }
      RETURN_IF_ERROR(ValidateShape(element));
    }
    return absl::OkStatus();
  }
  if (!shape.IsArray()) return absl::OkStatus();
  RETURN_IF_ERROR(ValidateDims(shape));
  const Layout* layout = shape.layout_or_null();
  return layout == nullptr ? absl::OkStatus() : ValidateLayout(shape, *layout);
}

}  // namespace

// Asked for every instruction, so what was found sound is remembered.
absl::Status ValidateShape(Shape shape) {
  std::atomic<bool>& sound = internal::ShapeNode::Of(shape)->sound;
  if (sound.load(std::memory_order_relaxed)) return absl::OkStatus();
  RETURN_IF_ERROR(FindFault(shape));
  sound.store(true, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace hlo
