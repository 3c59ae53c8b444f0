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

float SumOf(Vector<float> v) {
  float lanes[VectorOf<float>::kLanes];
  Store(lanes, v);
  for (int width = VectorOf<float>::kLanes / 2; width >= 1; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// Several sums hide the latency of the adds; they are combined in a fixed order.
template <class Stored, int kCount>
void ByRow(int64_t n, int64_t k, const float* x, int64_t x_stride, const void* matrix,
           int64_t stride, float* out, int64_t out_stride) {
  constexpr int kLanes = VectorOf<float>::kLanes;
  constexpr int kSums = kCount == 1 ? 4 : 2;
  const Stored* m = static_cast<const Stored*>(matrix);
  for (int64_t j = 0; j < n; ++j) {
    const Stored* row = m + j * stride;
    Vector<float> sums[kCount][kSums];
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) {
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s) sums[v][s] = Vector<float>{};
    }
    int64_t i = 0;
    for (; i + kSums * kLanes <= k; i += kSums * kLanes) {
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s) {
        const Vector<float> element = LoadFloats(row + i + s * kLanes);
#pragma GCC unroll 4
        for (int v = 0; v < kCount; ++v) {
          sums[v][s] += Load(x + v * x_stride + i + s * kLanes) * element;
        }
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) {
      float tail = 0;
      for (int64_t t = i; t < k; ++t) tail += x[v * x_stride + t] * Read(row[t]);
      Vector<float> total = sums[v][0];
#pragma GCC unroll 4
      for (int s = 1; s < kSums; ++s) total += sums[v][s];
      out[v * out_stride + j] = SumOf(total) + tail;
    }
  }
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
