#include "lib/eval/strided.h"

#include <cstring>

namespace hlo {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

// One-element dimensions dropped, neighbours that continue each other in both arrays merged.
StridedCopy Merged(const StridedCopy& copy) {
  StridedCopy merged;
  for (size_t d = 0; d < copy.dims.size(); ++d) {
    if (copy.dims[d] == 1) continue;
    if (!merged.dims.empty() && merged.from_strides.back() == copy.from_strides[d] * copy.dims[d] &&
        merged.to_strides.back() == copy.to_strides[d] * copy.dims[d]) {
      merged.dims.back() *= copy.dims[d];
      merged.from_strides.back() = copy.from_strides[d];
      merged.to_strides.back() = copy.to_strides[d];
      continue;
    }
    merged.dims.push_back(copy.dims[d]);
    merged.from_strides.push_back(copy.from_strides[d]);
    merged.to_strides.push_back(copy.to_strides[d]);
  }
  return merged;
}

template <class T>
void CopyRow(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    std::memmove(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (from_stride == 0 && to_stride == 1) {
    const T value = *from;
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

template <class T>
void CopyFrom(const StridedCopy& copy, size_t d, const T* from, T* to) {
  const int64_t from_stride = copy.from_strides[d], to_stride = copy.to_strides[d];
  if (d + 1 == copy.dims.size()) return CopyRow(from, from_stride, to, to_stride, copy.dims[d]);
  for (int64_t i = 0; i < copy.dims[d]; ++i)
    CopyFrom(copy, d + 1, from + i * from_stride, to + i * to_stride);
}

template <class T>
void CopyElements(const StridedCopy& copy, const uint8_t* from, uint8_t* to) {
  const T* x = reinterpret_cast<const T*>(from);
  T* z = reinterpret_cast<T*>(to);
  if (copy.dims.empty()) {
    *z = *x;
  } else {
    CopyFrom(copy, 0, x, z);
  }
}

template <class T>
void GatherOf(const uint8_t* from, const int64_t* offsets, int64_t count, uint8_t* to) {
  const T* x = reinterpret_cast<const T*>(from);
  T* z = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) z[i] = x[offsets[i]];
}
template <class T>
void ScatterOf(const uint8_t* from, const int64_t* offsets, int64_t count, uint8_t* to) {
  const T* x = reinterpret_cast<const T*>(from);
  T* z = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) z[offsets[i]] = x[i];
}

}  // namespace

std::vector<int64_t> AllOffsets(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(Product(dims)));
  ForEachOffset(dims, strides, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

void GatherElements(int bytes, const uint8_t* from, const int64_t* offsets, int64_t count,
                    uint8_t* to) {
  if (bytes == 1) return GatherOf<uint8_t>(from, offsets, count, to);
  if (bytes == 2) return GatherOf<uint16_t>(from, offsets, count, to);
  if (bytes == 4) return GatherOf<uint32_t>(from, offsets, count, to);
  if (bytes == 8) return GatherOf<uint64_t>(from, offsets, count, to);
  GatherOf<Bytes16>(from, offsets, count, to);
}

void ScatterElements(int bytes, const uint8_t* from, const int64_t* offsets, int64_t count,
                     uint8_t* to) {
  if (bytes == 1) return ScatterOf<uint8_t>(from, offsets, count, to);
  if (bytes == 2) return ScatterOf<uint16_t>(from, offsets, count, to);
  if (bytes == 4) return ScatterOf<uint32_t>(from, offsets, count, to);
  if (bytes == 8) return ScatterOf<uint64_t>(from, offsets, count, to);
  ScatterOf<Bytes16>(from, offsets, count, to);
}

void RunStridedCopy(const StridedCopy& copy, int bytes, const uint8_t* from, uint8_t* to) {
  for (int64_t d : copy.dims) {
    if (d <= 0) return;
  }
  const StridedCopy merged = Merged(copy);
  if (bytes == 1) return CopyElements<uint8_t>(merged, from, to);
  if (bytes == 2) return CopyElements<uint16_t>(merged, from, to);
  if (bytes == 4) return CopyElements<uint32_t>(merged, from, to);
  if (bytes == 8) return CopyElements<uint64_t>(merged, from, to);
  CopyElements<Bytes16>(merged, from, to);
}

void FillElements(const uint8_t* value, int bytes, uint8_t* to, int64_t count) {
  RunStridedCopy({{count}, {0}, {1}}, bytes, value, to);
}

int64_t Offset(absl::Span<const int64_t> index, absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

}  // namespace hlo
