// backends/cpu/library/pack_kernels_impl.h
//
// Copies strips of operands for the tiles of a matrix product (layout: kernels.h). Part of
// kernels_impl.h, which says what may stand here.
#pragma once

#include <stdint.h>

#include "backends/cpu/library/kernels.h"

namespace hlo::cpu {
namespace {

template <class T, class Stored, int kWidth>
void Pack(const void* source, int64_t stride_i, int64_t stride_k, int count, int64_t depth,
          void* destination) {
  const Stored* src = static_cast<const Stored*>(source);
  T* dst = static_cast<T*>(destination);
  if (count < kWidth) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int i = 0; i < count; ++i) dst[k * kWidth + i] = Read(src[i * stride_i + k * stride_k]);
      for (int i = count; i < kWidth; ++i) dst[k * kWidth + i] = T{};
    }
    return;
  }
  if (stride_i == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      const Stored* row = src + k * stride_k;
      for (int i = 0; i < kWidth; ++i) dst[k * kWidth + i] = Read(row[i]);
    }
    return;
  }
  if (stride_k == 1) {  // a transpose, in squares that stay in the first cache
    constexpr int64_t kSquare = 16;
    int64_t k = 0;
    for (; k + kSquare <= depth; k += kSquare) {
      for (int i = 0; i < kWidth; ++i) {
        const Stored* row = src + i * stride_i + k;
        T* column = dst + k * kWidth + i;
        for (int64_t s = 0; s < kSquare; ++s) column[s * kWidth] = Read(row[s]);
      }
    }
    for (; k < depth; ++k) {
      for (int i = 0; i < kWidth; ++i) dst[k * kWidth + i] = Read(src[i * stride_i + k]);
    }
    return;
  }
  for (int64_t k = 0; k < depth; ++k) {
    for (int i = 0; i < kWidth; ++i) dst[k * kWidth + i] = Read(src[i * stride_i + k * stride_k]);
  }
}

// Neighbouring rows or columns are often neighbours in memory (features of one tap), and else those
// along k (features of one position).
template <class T, int kWidth>
void PackTable(const void* source, const int64_t* at_i, const int64_t* at_k, int count,
               int64_t depth, void* destination) {
  const T* src = static_cast<const T*>(source);
  T* dst = static_cast<T*>(destination);
  bool is_row = count == kWidth;
  for (int i = 1; i < count; ++i) is_row &= at_i[i] == at_i[0] + i;
  if (is_row) {
    for (int64_t k = 0; k < depth; ++k) {
      const T* row = src + at_i[0] + at_k[k];
      for (int i = 0; i < kWidth; ++i) dst[k * kWidth + i] = row[i];
    }
    return;
  }
  constexpr int64_t kSquare = 16;  // as in Pack
  for (int64_t k = 0, run = 1; k < depth; k += run) {
    const int64_t most = depth - k < kSquare ? depth - k : kSquare;
    for (run = 1; run < most && at_k[k + run] == at_k[k] + run;) ++run;
    for (int i = 0; i < count; ++i) {
      const T* row = src + at_i[i] + at_k[k];
      T* column = dst + k * kWidth + i;
      for (int64_t s = 0; s < run; ++s) column[s * kWidth] = row[s];
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    for (int i = count; i < kWidth; ++i) dst[k * kWidth + i] = T{};
  }
}

// A strip of pairs: two neighbours along k in the halves of a word.
template <class Stored, int kWidth>
void PackPairs(const void* source, int64_t stride_i, int64_t stride_k, int count, int64_t depth,
               void* destination) {
  const Stored* src = static_cast<const Stored*>(source);
  uint32_t* dst = static_cast<uint32_t*>(destination);
  const auto pair = [](uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; };
  for (int64_t k = 0; k < depth; k += 2, dst += kWidth) {
    const bool has_high = k + 1 < depth;
    const Stored* const row = src + k * stride_k;
    const Stored* const next = has_high ? row + stride_k : row;
    const uint32_t mask = has_high ? 0xffff : 0;
    if (count == kWidth && stride_i == 1) {
      for (int i = 0; i < kWidth; ++i) dst[i] = pair(Read(row[i]), Read(next[i]) & mask);
      continue;
    }
    for (int i = 0; i < count; ++i)
      dst[i] = pair(Read(row[i * stride_i]), Read(next[i * stride_i]) & mask);
    for (int i = count; i < kWidth; ++i) dst[i] = 0;
  }
}

#if HLO_KERNEL_VECTOR_BYTES == 64
// A strip of quads: four neighbours along k in the bytes of a word, the first bit of each turned by
// `kTurn`.
template <class Stored, int kWidth, uint32_t kTurn>
void PackQuads(const void* source, int64_t stride_i, int64_t stride_k, int count, int64_t depth,
               void* destination) {
  const Stored* src = static_cast<const Stored*>(source);
  uint32_t* dst = static_cast<uint32_t*>(destination);
  for (int64_t k = 0; k < depth; k += 4, dst += kWidth) {
    const Stored* const row = src + k * stride_k;
    if (k + 4 <= depth && stride_k == 1) {
      for (int i = 0; i < count; ++i) {
        uint32_t word;
        __builtin_memcpy(&word, row + i * stride_i, sizeof(word));
        dst[i] = word ^ kTurn;
      }
    } else if (k + 4 <= depth && stride_i == 1 && count == kWidth) {
      for (int i = 0; i < kWidth; ++i) {
        const auto byte = [&](int q) { return (Read(row[q * stride_k + i]) & 0xff) << (8 * q); };
        dst[i] = (byte(0) | byte(1) | byte(2) | byte(3)) ^ kTurn;
      }
    } else {
      for (int i = 0; i < count; ++i) {
        uint32_t word = 0;
        for (int q = 0; q < 4 && k + q < depth; ++q)
          word |= (Read(row[q * stride_k + i * stride_i]) & 0xff) << (8 * q);
        dst[i] = word ^ kTurn;
      }
    }
    for (int i = count; i < kWidth; ++i) dst[i] = 0;
  }
}
#endif

}  // namespace
}  // namespace hlo::cpu
