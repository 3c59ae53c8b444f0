// backends/cpu/library/gemv_kernels_impl.h
//
// The text of GemvKernels (kernels.h): matrix x few vectors. Part of kernels_impl.h, whose
// rules hold here.
#pragma once

#include "backends/cpu/library/kernels.h"

namespace hlo::cpu {
namespace {

// Rows of the matrix pass by in groups of kGroup, so that the sums in `out` are read and written
// once a group; with few vectors the matrix streams from memory at full speed.
template <class Stored, int kCount>
void ByColumn(int64_t n, int64_t k, const float* x, int64_t x_stride, const void* matrix,
              int64_t stride, float* out, int64_t out_stride) {
  constexpr int kGroup = 8;
  const Stored* m = static_cast<const Stored*>(matrix);
  for (int v = 0; v < kCount; ++v) {
    for (int64_t j = 0; j < n; ++j) out[v * out_stride + j] = 0;
  }
  int64_t i = 0;
  for (; i + kGroup <= k; i += kGroup) {
    float f[kCount][kGroup];
    for (int v = 0; v < kCount; ++v) {
      for (int g = 0; g < kGroup; ++g) f[v][g] = x[v * x_stride + i + g];
    }
    const Stored* rows = m + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      float element[kGroup];
#pragma GCC unroll 8
      for (int g = 0; g < kGroup; ++g) element[g] = Read(rows[g * stride + j]);
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) {
        float sum = out[v * out_stride + j];
#pragma GCC unroll 8
        for (int g = 0; g < kGroup; ++g) sum += f[v][g] * element[g];
        out[v * out_stride + j] = sum;
      }
    }
  }
  for (; i < k; ++i) {
    const Stored* row = m + i * stride;
    for (int v = 0; v < kCount; ++v) {
      const float f = x[v * x_stride + i];
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) out[v * out_stride + j] += f * Read(row[j]);
    }
  }
}

// The next elements as one vector of floats.
inline Vector<float> LoadFloats(const float* p) { return Load(p); }
template <class Stored>
Vector<float> LoadFloats(const Stored* p) {
  float elements[VectorOf<float>::kLanes];
  for (int l = 0; l < VectorOf<float>::kLanes; ++l) elements[l] = Read(p[l]);
  return Load(elements);
}

// The sum of the lanes, halves first. Parts of four lanes stay vectors: lanes one by one would take
// longer than a short row.
inline float SumOf(Vector<float> v) {
  typedef float Four __attribute__((vector_size(16)));
  constexpr int kParts = VectorOf<float>::kLanes / 4;
  Four parts[kParts];
  __builtin_memcpy(parts, &v, sizeof(v));
#pragma GCC unroll 4
  for (int width = kParts / 2; width >= 1; width /= 2) {
#pragma GCC unroll 4
    for (int p = 0; p < width; ++p) parts[p] += parts[p + width];
  }
  return (parts[0][0] + parts[0][2]) + (parts[0][1] + parts[0][3]);
}

// Elements of several vectors and rows of the matrix, each read once for all products that it is
// part of. Two sums for each product hide the latency of the adds; they are combined in a fixed
// order, which does not depend on the number of rows.
template <class Stored, int kCount, int kRows>
__attribute__((always_inline)) inline void Rows(int64_t k, const float* x, int64_t x_stride,
                                                const Stored* m, int64_t stride, float* out,
                                                int64_t out_stride) {
  constexpr int kLanes = VectorOf<float>::kLanes;
  constexpr int kSums = 2;
  Vector<float> sums[kCount][kRows][kSums];
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) sums[v][r][s] = Vector<float>{};
    }
  }
  int64_t i = 0;
  for (; i + kSums * kLanes <= k; i += kSums * kLanes) {
#pragma GCC unroll 2
    for (int s = 0; s < kSums; ++s) {
      const int64_t at = i + s * kLanes;
      Vector<float> factors[kCount];
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) factors[v] = Load(x + v * x_stride + at);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Vector<float> element = LoadFloats(m + r * stride + at);
#pragma GCC unroll 4
        for (int v = 0; v < kCount; ++v) sums[v][r][s] += factors[v] * element;
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      float tail = 0;
      for (int64_t t = i; t < k; ++t) tail += x[v * x_stride + t] * Read(m[r * stride + t]);
      out[v * out_stride + r] = SumOf(sums[v][r][0] + sums[v][r][1]) + tail;
    }
  }
}

template <class Stored, int kCount>
void ByRow(int64_t n, int64_t k, const float* x, int64_t x_stride, const void* matrix,
           int64_t stride, float* out, int64_t out_stride) {
  constexpr int kRows = kCount <= 2 ? 4 / kCount : 1;
  const Stored* m = static_cast<const Stored*>(matrix);
  int64_t j = 0;
  for (; j + kRows <= n; j += kRows)
    Rows<Stored, kCount, kRows>(k, x, x_stride, m + j * stride, stride, out + j, out_stride);
  for (; j < n; ++j)
    Rows<Stored, kCount, 1>(k, x, x_stride, m + j * stride, stride, out + j, out_stride);
}

template <class Stored>
void ByColumnAny(int vectors, int64_t n, int64_t k, const float* x, int64_t x_stride,
                 const void* matrix, int64_t stride, float* out, int64_t out_stride) {
  if (vectors == 1) ByColumn<Stored, 1>(n, k, x, x_stride, matrix, stride, out, out_stride);
  if (vectors == 2) ByColumn<Stored, 2>(n, k, x, x_stride, matrix, stride, out, out_stride);
  if (vectors == 3) ByColumn<Stored, 3>(n, k, x, x_stride, matrix, stride, out, out_stride);
  if (vectors == 4) ByColumn<Stored, 4>(n, k, x, x_stride, matrix, stride, out, out_stride);
}

template <class Stored>
void ByRowAny(int vectors, int64_t n, int64_t k, const float* x, int64_t x_stride,
              const void* matrix, int64_t stride, float* out, int64_t out_stride) {
  if (vectors == 1) ByRow<Stored, 1>(n, k, x, x_stride, matrix, stride, out, out_stride);
  if (vectors == 2) ByRow<Stored, 2>(n, k, x, x_stride, matrix, stride, out, out_stride);
  if (vectors == 3) ByRow<Stored, 3>(n, k, x, x_stride, matrix, stride, out, out_stride);
  if (vectors == 4) ByRow<Stored, 4>(n, k, x, x_stride, matrix, stride, out, out_stride);
}

}  // namespace
}  // namespace hlo::cpu
