// backends/cpu/library/kernels.h
//
// The innermost loops of our own matrix products and Fourier transforms, once for each instruction
// set. kernels_impl.h holds their text; kernels_{sse,avx2,avx512}.cc compile it with the flags of
// their instruction set.
//
// Layout of packed operands: a strip holds `width` rows (of lhs) or columns (of rhs), element (i,
// k) of a strip at k * width + i; missing rows are zero. Where `group` is above 1, an element is a
// word of so many neighbours along k, zero after the last. Tiles of AMX have a layout of their own
// (kernels_amx.cc).
#pragma once

#include <cstdint>

#include "backends/cpu/library/fft_kernels.h"
#include "backends/cpu/library/host.h"

namespace hlo::cpu {

// How an operand is stored, seen from the type the product is computed in.
enum class StoredAs : uint8_t { kSame, kBf16, kF16, kS8, kU8, kS16, kU16 };
inline constexpr int kStoredAsCount = 7;

// Copies a strip: dst[k * width + i] = src[i * stride_i + k * stride_k] for i < count, zero above.
// `depth` counts elements of the source, for tiles it counts those of a packed strip.
using PackFn = void (*)(const void* src, int64_t stride_i, int64_t stride_k, int count,
                        int64_t depth, void* dst);

// Copies a strip of elements that are anywhere: dst[k * width + i] = src[at_i[i] + at_k[k]] for i <
// count, zero above.
using PackTableFn = void (*)(const void* src, const int64_t* at_i, const int64_t* at_k, int count,
                             int64_t depth, void* dst);

// Stores tile[r * tile_stride + c] to out[r * row_stride + c * column_stride].
using StoreFn = void (*)(const void* tile, int64_t tile_stride, int rows, int columns, void* out,
                         int64_t row_stride, int64_t column_stride);

// Kernels for products computed in T: float, double, uint32_t, uint64_t.
template <class T>
struct GemmKernels {
  int rows = 0;     // height of a tile, width of a packed lhs strip
  int columns = 0;  // width of a tile and of a packed rhs strip
  int group = 1;    // neighbours along k in one packed element
  int words = 1;    // Ts in one packed element, of each row or column
  int depth = 288;  // along k per block: a packed rhs strip of it stays in the first cache
  // tile (+)= lhs strip x rhs strip. `tile` is a full rows x columns tile with unit column stride.
  void (*tile)(int64_t depth, const T* lhs, const T* rhs, T* tile, int64_t stride,
               bool accumulate) = nullptr;
  // The same for tiles of 1 … `rows` rows, with lhs where it is: row r, element k at
  // lhs[r * row_stride + k]. By the number of rows.
  static constexpr int kMostRows = 12;
  void (*tile_in_place[kMostRows + 1])(int64_t depth, const T* lhs, int64_t row_stride,
                                       const T* rhs, T* tile, int64_t stride, bool accumulate) = {};
  PackFn pack_lhs[kStoredAsCount] = {};  // by StoredAs; null where it makes no sense for T
  PackFn pack_rhs[kStoredAsCount] = {};
  PackTableFn pack_lhs_table = nullptr;  // of elements stored as T
  PackTableFn pack_rhs_table = nullptr;
  StoreFn store[kStoredAsCount] = {};
};

// Matrix x few vectors, computed in f32, one pass over the matrix.
struct GemvKernels {
  static constexpr int kMaxVectors = 4;
  // out[v * out_stride + n] (+)= sum over k of vectors[v * vector_stride + k] * matrix[k * stride +
  // n]
  using ByColumnFn = void (*)(int vectors, int64_t n, int64_t k, const float* x, int64_t x_stride,
                              const void* matrix, int64_t stride, float* out, int64_t out_stride);
  // out[v * out_stride + n] = sum over k of vectors[v * vector_stride + k] * matrix[n * stride + k]
  using ByRowFn = ByColumnFn;
  ByColumnFn by_column[kStoredAsCount] = {};  // kSame, kBf16, kF16
  ByRowFn by_row[kStoredAsCount] = {};
};

// out[i] = sum over t of weights[t] * in[offsets[t] + i] for i < n.
template <class T>
using RowsFn = void (*)(const T* in, const int64_t* offsets, const T* weights, int64_t taps, T* out,
                        int64_t n);

struct KernelTable {
  GemmKernels<float> f32;
  GemmKernels<double> f64;
  GemmKernels<uint32_t> u32;
  GemmKernels<uint64_t> u64;
  // Integers of at most 16 bits, an unsigned one of at most 8: as pairs of 16 bits, which one
  // instruction multiplies and adds.
  GemmKernels<uint32_t> pairs;
  // Rows of signed or unsigned bytes by columns of signed ones, four at a time; for processors with
  // VNNI alone, empty below AVX-512.
  GemmKernels<uint32_t> signed_quads, unsigned_quads;
  // By tile registers, for AMX alone, else empty: bf16 of which denormal ones count as zero, and
  // bytes of either sign (rows and columns: signed and signed, signed and unsigned, ...).
  GemmKernels<float> bf16_tiles;
  GemmKernels<uint32_t> byte_tiles[4];
  GemvKernels gemv;
  RowsFn<float> rows_f32 = nullptr;
  RowsFn<double> rows_f64 = nullptr;
  FftKernels<float> fft_f32;
  FftKernels<double> fft_f64;

  template <class T>
  const GemmKernels<T>& gemm() const;
  template <class T>
  RowsFn<T> rows() const;
};

template <>
inline const GemmKernels<float>& KernelTable::gemm<float>() const {
  return f32;
}
template <>
inline const GemmKernels<double>& KernelTable::gemm<double>() const {
  return f64;
}
template <>
inline const GemmKernels<uint32_t>& KernelTable::gemm<uint32_t>() const {
  return u32;
}
template <>
inline const GemmKernels<uint64_t>& KernelTable::gemm<uint64_t>() const {
  return u64;
}

template <>
inline RowsFn<float> KernelTable::rows<float>() const {
  return rows_f32;
}
template <>
inline RowsFn<double> KernelTable::rows<double>() const {
  return rows_f64;
}

// The kernels for an instruction set.
const KernelTable& KernelsFor(IsaLevel level);

// One of them each; the processor must have the instructions.
const KernelTable& SseKernels();
const KernelTable& Avx2Kernels();
const KernelTable& Avx512Kernels();
const KernelTable& AmxKernels();

}  // namespace hlo::cpu
