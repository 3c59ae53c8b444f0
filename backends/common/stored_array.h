// How arrays lie in memory at run time: dense and row-major. An array with dynamic dimensions has
// room for its bounds; its elements are dense in the sizes that it has just then, which follow as
// 64-bit numbers, one for each dimension. Code that only moves values need not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/common/buffer_slice.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/types/literal.h"

namespace hlo {

namespace internal {
constexpr int64_t kSizeBytes = static_cast<int64_t>(sizeof(int64_t));
inline int64_t OffsetOfSizes(Shape shape) { return RoundUp(shape.byte_size(), kSizeBytes); }
}  // namespace internal

// Bytes of a leaf of a value: an array or a buffer; 0 for tokens.
inline int64_t StoredBytes(Shape leaf) {
  if (leaf.IsBuffer()) return StoredBytes(leaf.element(0));
  if (!leaf.IsArray()) return 0;
  if (!leaf.has_dynamic_dims()) return leaf.byte_size();
  return internal::OffsetOfSizes(leaf) + leaf.rank() * internal::kSizeBytes;
}

// Whether some leaf has sizes that are known at run time only.
inline bool HasDynamicLeaf(Shape shape) {
  bool found = false;
  ForEachLeaf(shape, [&found](Shape leaf, const ShapeIndex&) {
    found = found || (leaf.IsArray() && leaf.has_dynamic_dims());
  });
  return found;
}

// Writes `value` as an array of shape `declared`.
inline absl::Status StoreArray(const Literal& value, Shape declared, void* to) {
  const bool is_dynamic = declared.IsArray() && declared.has_dynamic_dims();
  const int64_t room = declared.IsArray() ? declared.byte_size() : StoredBytes(declared);
  RET_CHECK(is_dynamic ? value.byte_size() <= room : value.byte_size() == room,
            "`{}` does not fit into `{}`", value.shape(), declared);
  if (value.byte_size() > 0) std::memcpy(to, value.data(), static_cast<size_t>(value.byte_size()));
  if (!is_dynamic) return absl::OkStatus();
  auto* sizes = static_cast<char*>(to) + internal::OffsetOfSizes(declared);
  for (const int64_t size : value.shape().dims()) {
    std::memcpy(sizes, &size, sizeof(size));
    sizes += sizeof(size);
  }
  return absl::OkStatus();
}

// `value` as an array of shape `declared` lies in memory: its own bytes, or, with sizes, a `copy`.
inline absl::StatusOr<const void*> StoredForm(const Literal& value, Shape declared,
                                              std::vector<std::byte>& copy) {
  if (declared.IsArray() && declared.has_dynamic_dims()) {
    copy.resize(static_cast<size_t>(StoredBytes(declared)));
    RETURN_IF_ERROR(StoreArray(value, declared, copy.data()));
    return copy.data();
  }
  RET_CHECK(value.byte_size() == StoredBytes(declared), "`{}` does not fit into `{}`",
            value.shape(), declared);
  return value.data();
}

// What StoreArray wrote; without layout when `declared` is dynamic.
inline Literal LoadArray(Shape declared, const void* from) {
  Shape shape = declared;
  if (declared.IsArray() && declared.has_dynamic_dims()) {
    const auto* sizes = static_cast<const char*>(from) + internal::OffsetOfSizes(declared);
    DimVec dims(static_cast<size_t>(declared.rank()));
    std::memcpy(dims.data(), sizes, dims.size() * sizeof(int64_t));
    shape = Shape::Array(declared.element_type(), dims);
  }
  Literal value(shape);
  if (value.byte_size() > 0)
    std::memcpy(value.mutable_data(), from, static_cast<size_t>(value.byte_size()));
  return value;
}

// A whole value, `slices` holding its leaves depth first from `next` on; `address` gives the
// place of a slice.
template <class Address>
Literal LoadValue(Shape shape, const std::vector<BufferSlice>& slices, size_t& next,
                  const Address& address) {
  if (!shape.IsTuple()) return LoadArray(shape, address(slices[next++]));
  std::vector<Literal> elements;
  for (const Shape element : shape.elements())
    elements.push_back(LoadValue(element, slices, next, address));
  return Literal::Tuple(std::move(elements));
}
template <class Address>
absl::Status StoreValue(const Literal& value, Shape shape, const std::vector<BufferSlice>& slices,
                        size_t& next, const Address& address) {
  if (!shape.IsTuple()) return StoreArray(value, shape, address(slices[next++]));
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    RETURN_IF_ERROR(StoreValue(value.element(i), shape.element(i), slices, next, address));
  return absl::OkStatus();
}

}  // namespace hlo
