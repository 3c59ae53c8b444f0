// backends/cpu/library/kernels_impl.h
//
// The text of the kernels, included by one .cc file for each instruction set, which defines
// HLO_KERNEL_VECTOR_BYTES and HLO_KERNEL_TABLE. Those files are compiled for a processor that this
// one may not be, and with -ffp-contract=fast, which makes a * b + c one fused multiply-add. So:
// everything here is in an unnamed namespace, and no header with inline functions is used, lest the
// linker keep a copy of such a function that only some processors can run.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#include "backends/cpu/library/kernels.h"

namespace hlo::cpu {
namespace {

constexpr int kVectorBytes = HLO_KERNEL_VECTOR_BYTES;

// A vector that may be loaded from and stored to addresses of single elements.
template <class T>
struct VectorOf {
  typedef T Aligned __attribute__((vector_size(kVectorBytes)));
  typedef T Type __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = kVectorBytes / int{sizeof(T)};
};

template <class T>
using Vector = typename VectorOf<T>::Aligned;

template <class T>
Vector<T> Load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::Type*>(p);
}

template <class T>
void Store(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::Type*>(p) = v;
}

template <class T>
Vector<T> Splat(T x) {
  return x - Vector<T>{};
}

// Storage types: how to read one element as T and how to write it.

struct Bf16Bits {
  uint16_t bits;
};
struct F16Bits {
  uint16_t bits;
};

float AsFloat(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

uint32_t AsBits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

float Read(Bf16Bits x) { return AsFloat(uint32_t{x.bits} << 16); }

// Rounds to nearest, ties to even; NaN stays NaN.
void Write(float x, Bf16Bits& out) {
  const uint32_t bits = AsBits(x);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40;
  out.bits = static_cast<uint16_t>(x != x ? nan : rounded);
}

#if HLO_KERNEL_VECTOR_BYTES >= 32
float Read(F16Bits x) { return _cvtsh_ss(x.bits); }
void Write(float x, F16Bits& out) { out.bits = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#else
float Read(F16Bits x) {
  const uint32_t sign = (uint32_t{x.bits} & 0x8000) << 16;
  const uint32_t exponent = (x.bits >> 10) & 0x1f;
  const uint32_t mantissa = x.bits & 0x3ff;
  if (exponent == 0x1f) return AsFloat(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return AsFloat(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -tiny : tiny;
}
void Write(float x, F16Bits& out) {
  const uint32_t bits = AsBits(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t result;
  if (magnitude > 0x7f800000) {
    result = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= 0x477ff000) {  // rounds to 65536 or more
    result = 0x7c00;
  } else if (magnitude >= 0x38800000) {
    result = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  } else {  // denormal: adding 0.5 leaves the rounded mantissa in the low bits
    result = AsBits(AsFloat(magnitude) + 0.5f) - 0x3f000000;
  }
  out.bits = static_cast<uint16_t>(sign | result);
}
#endif

template <class T>
T Read(T x) {
  return x;
}
inline uint32_t Read(int8_t x) { return static_cast<uint32_t>(int32_t{x}); }
inline uint32_t Read(int16_t x) { return static_cast<uint32_t>(int32_t{x}); }
inline uint32_t Read(uint8_t x) { return x; }
inline uint32_t Read(uint16_t x) { return x; }

template <class T, class S>
void Write(T x, S& out) {
  out = static_cast<S>(x);
}

}  // namespace
}  // namespace hlo::cpu

#include "backends/cpu/library/pack_kernels_impl.h"

namespace hlo::cpu {
namespace {

// Tiles.

// What a tile does with an element of a row and one of a column.
struct MultiplyAdd {
  template <class V>
  __attribute__((always_inline)) static void Run(V& sum, V row, V column) {
    sum += row * column;
  }
};

// Both products of two pairs of 16 bits.
struct MultiplyAddPairs {
  __attribute__((always_inline)) static void Run(Vector<uint32_t>& sum, Vector<uint32_t> row,
                                                 Vector<uint32_t> column) {
#if HLO_KERNEL_VECTOR_BYTES == 64
    sum += reinterpret_cast<Vector<uint32_t>>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(row), reinterpret_cast<__m512i>(column)));
#elif HLO_KERNEL_VECTOR_BYTES == 32
    sum += reinterpret_cast<Vector<uint32_t>>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(row), reinterpret_cast<__m256i>(column)));
#else
    sum += reinterpret_cast<Vector<uint32_t>>(
        _mm_madd_epi16(reinterpret_cast<__m128i>(row), reinterpret_cast<__m128i>(column)));
#endif
  }
};

// The sums of a tile, kept in registers.
template <class T, int kRows, int kVectors, class Step = MultiplyAdd>
struct TileSums {
  static constexpr int kLanes = VectorOf<T>::kLanes;
  Vector<T> sum[kRows][kVectors];

  void Clear() {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Vector<T>{};
    }
  }

  // Adds the products of one k; lhs(r) is the element of row r.
  template <class F>
  __attribute__((always_inline)) void Add(F lhs, const T* rhs) {
    Vector<T> column[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) column[v] = Load(rhs + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vector<T> row = Splat(lhs(r));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) Step::Run(sum[r][v], row, column[v]);
    }
  }

  void Write(T* tile, int64_t stride, bool accumulate) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        T* at = tile + r * stride + v * kLanes;
        Store(at, accumulate ? Load(at) + sum[r][v] : sum[r][v]);
      }
    }
  }
};

// Asks for the lines of a tile before its sums are ready.
template <class T, int kRows>
void PrefetchTile(const T* tile, int64_t stride, int columns) {
  for (int r = 0; r < kRows; ++r) {
    __builtin_prefetch(tile + r * stride, 1);
    __builtin_prefetch(tile + r * stride + columns - 1, 1);
  }
}

template <class T, int kRows, int kVectors, class Step = MultiplyAdd>
void Tile(int64_t depth, const T* lhs, const T* rhs, T* tile, int64_t stride, bool accumulate) {
  constexpr int kColumns = kVectors * VectorOf<T>::kLanes;
  PrefetchTile<T, kRows>(tile, stride, kColumns);
  TileSums<T, kRows, kVectors, Step> sums;
  sums.Clear();
#pragma GCC unroll 4
  for (int64_t k = 0; k < depth; ++k) {
    sums.Add([lhs](int r) { return lhs[r]; }, rhs);
    lhs += kRows;
    rhs += kColumns;
  }
  sums.Write(tile, stride, accumulate);
}

template <class T, int kRows, int kVectors>
void TileInPlace(int64_t depth, const T* lhs, int64_t row_stride, const T* rhs, T* tile,
                 int64_t stride, bool accumulate) {
  constexpr int kColumns = kVectors * VectorOf<T>::kLanes;
  PrefetchTile<T, kRows>(tile, stride, kColumns);
  const T* rows[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) rows[r] = lhs + r * row_stride;
  TileSums<T, kRows, kVectors> sums;
  sums.Clear();
  for (int64_t k = 0; k < depth; ++k) {
    sums.Add([&rows, k](int r) { return rows[r][k]; }, rhs);
    rhs += kColumns;
  }
  sums.Write(tile, stride, accumulate);
}

#if HLO_KERNEL_VECTOR_BYTES == 64
// Four products of unsigned bytes of a row by signed ones of a column. In assembly: the rest of
// this file is compiled for processors without the instruction.
struct MultiplyAddQuads {
  __attribute__((always_inline)) static void Run(Vector<uint32_t>& sum, Vector<uint32_t> row,
                                                 Vector<uint32_t> column) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(row), "v"(column));
  }
};

// Of quads: a signed row is packed with 128 added to each byte, and its sums have 128 times the
// column too much.
template <int kRows, int kVectors, bool kRowIsSigned>
void TileQuads(int64_t depth, const uint32_t* lhs, const uint32_t* rhs, uint32_t* tile,
               int64_t stride, bool accumulate) {
  constexpr int kLanes = VectorOf<uint32_t>::kLanes;
  PrefetchTile<uint32_t, kRows>(tile, stride, kVectors * kLanes);
  TileSums<uint32_t, kRows, kVectors, MultiplyAddQuads> sums;
  sums.Clear();
  TileSums<uint32_t, 1, kVectors, MultiplyAddQuads> excess;
  excess.Clear();
  for (int64_t k = 0; k < depth; ++k) {
    sums.Add([lhs](int r) { return lhs[r]; }, rhs);
    if constexpr (kRowIsSigned) excess.Add([](int) { return 0x80808080u; }, rhs);
    lhs += kRows;
    rhs += kVectors * kLanes;
  }
  if constexpr (kRowIsSigned) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums.sum[r][v] -= excess.sum[0][v];
    }
  }
  sums.Write(tile, stride, accumulate);
}
#endif

template <class T, class Stored>
void StoreTile(const void* tile, int64_t tile_stride, int rows, int columns, void* destination,
               int64_t row_stride, int64_t column_stride) {
  for (int r = 0; r < rows; ++r) {
    const T* from = static_cast<const T*>(tile) + r * tile_stride;
    Stored* to = static_cast<Stored*>(destination) + r * row_stride;
    if (column_stride == 1) {
      for (int c = 0; c < columns; ++c) Write(from[c], to[c]);
    } else {
      for (int c = 0; c < columns; ++c) Write(from[c], to[c * column_stride]);
    }
  }
}

}  // namespace
}  // namespace hlo::cpu

#include "backends/cpu/library/fft_kernels_impl.h"
#include "backends/cpu/library/gemv_kernels_impl.h"

namespace hlo::cpu {
namespace {

// Tables.

template <class T, class Stored, int kRows, int kColumns>
void AddStored(GemmKernels<T>& k, StoredAs as) {
  const int i = static_cast<int>(as);
  k.pack_lhs[i] = Pack<T, Stored, kRows>;
  k.pack_rhs[i] = Pack<T, Stored, kColumns>;
  k.store[i] = StoreTile<T, Stored>;
}

// AVX-512 has 32 registers: 24 sums, two columns, the rest for rows. The others have 16: 12 sums.
constexpr int kTileRows = kVectorBytes == 64 ? 12 : 6;
constexpr int kTileVectors = 2;

template <class T, int kRows>
void AddTilesInPlace(GemmKernels<T>& k) {
  k.tile_in_place[kRows] = TileInPlace<T, kRows, kTileVectors>;
  if constexpr (kRows > 1) AddTilesInPlace<T, kRows - 1>(k);
}

template <class T>
GemmKernels<T> MakeGemm() {
  constexpr int kColumns = kTileVectors * VectorOf<T>::kLanes;
  GemmKernels<T> k;
  k.rows = kTileRows;
  k.columns = kColumns;
  k.tile = Tile<T, kTileRows, kTileVectors>;
  AddTilesInPlace<T, kTileRows>(k);
  AddStored<T, T, kTileRows, kColumns>(k, StoredAs::kSame);
  k.pack_lhs_table = PackTable<T, kTileRows>;
  k.pack_rhs_table = PackTable<T, kColumns>;
  if constexpr (__is_same(T, float)) {
    AddStored<T, Bf16Bits, kTileRows, kColumns>(k, StoredAs::kBf16);
    AddStored<T, F16Bits, kTileRows, kColumns>(k, StoredAs::kF16);
  }
  if constexpr (__is_same(T, uint32_t)) {
    AddStored<T, int8_t, kTileRows, kColumns>(k, StoredAs::kS8);
    AddStored<T, uint8_t, kTileRows, kColumns>(k, StoredAs::kU8);
    AddStored<T, int16_t, kTileRows, kColumns>(k, StoredAs::kS16);
    AddStored<T, uint16_t, kTileRows, kColumns>(k, StoredAs::kU16);
  }
  return k;
}

template <class Stored>
void AddPairs(GemmKernels<uint32_t>& k, StoredAs as) {
  const int i = static_cast<int>(as);
  k.pack_lhs[i] = PackPairs<Stored, kTileRows>;
  k.pack_rhs[i] = PackPairs<Stored, kTileVectors * VectorOf<uint32_t>::kLanes>;
}

// As the kernels of 32 bits, but for the operands.
GemmKernels<uint32_t> MakePairs(GemmKernels<uint32_t> k) {
  k.group = 2;
  k.tile = Tile<uint32_t, kTileRows, kTileVectors, MultiplyAddPairs>;
  for (auto& tile : k.tile_in_place) tile = nullptr;
  for (int i = 0; i < kStoredAsCount; ++i) k.pack_lhs[i] = k.pack_rhs[i] = nullptr;
  AddPairs<int8_t>(k, StoredAs::kS8);
  AddPairs<uint8_t>(k, StoredAs::kU8);
  AddPairs<int16_t>(k, StoredAs::kS16);
  return k;
}

// As the kernels of 32 bits, for rows of such bytes and columns of signed ones; empty without the
// instruction set.
template <class Stored>
GemmKernels<uint32_t> MakeQuads([[maybe_unused]] GemmKernels<uint32_t> k,
                                [[maybe_unused]] StoredAs as) {
#if HLO_KERNEL_VECTOR_BYTES == 64
  constexpr bool kIsSigned = Stored(-1) < Stored(0);
  k.group = 4;
  k.tile = TileQuads<kTileRows, kTileVectors, kIsSigned>;
  for (auto& tile : k.tile_in_place) tile = nullptr;
  for (int i = 0; i < kStoredAsCount; ++i) k.pack_lhs[i] = k.pack_rhs[i] = nullptr;
  k.pack_lhs[static_cast<int>(as)] = PackQuads < Stored, kTileRows, kIsSigned ? 0x80808080u : 0u > ;
  k.pack_rhs[static_cast<int>(StoredAs::kS8)] =
      PackQuads<int8_t, kTileVectors * VectorOf<uint32_t>::kLanes, 0u>;
  return k;
#else
  return GemmKernels<uint32_t>();
#endif
}

// Weighted sums of shifted rows, so many vectors at a time.
template <int kVectors, class T>
void AddRows(const T* in, const int64_t* offsets, const T* weights, int64_t taps, T* out) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  Vector<T> sums[kVectors] = {};
  for (int64_t t = 0; t < taps; ++t) {
    const Vector<T> weight = Splat(weights[t]);
    const T* const row = in + offsets[t];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[v] += weight * Load(row + v * kLanes);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) Store(out + v * kLanes, sums[v]);
}

template <class T>
void Rows(const T* in, const int64_t* offsets, const T* weights, int64_t taps, T* out, int64_t n) {
  constexpr int kLanes = VectorOf<T>::kLanes, kBlock = 8;
  int64_t i = 0;
  for (; i + kBlock * kLanes <= n; i += kBlock * kLanes)
    AddRows<kBlock>(in + i, offsets, weights, taps, out + i);
  for (; i + kLanes <= n; i += kLanes) AddRows<1>(in + i, offsets, weights, taps, out + i);
  if (i < n && n >= kLanes) {
    AddRows<1>(in + n - kLanes, offsets, weights, taps, out + n - kLanes);
    return;
  }
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t t = 0; t < taps; ++t) sum += weights[t] * in[offsets[t] + i];
    out[i] = sum;
  }
}

KernelTable MakeTable() {
  KernelTable table;
  table.f32 = MakeGemm<float>();
  table.f64 = MakeGemm<double>();
  table.u32 = MakeGemm<uint32_t>();
  table.u64 = MakeGemm<uint64_t>();
  table.pairs = MakePairs(table.u32);
  table.signed_quads = MakeQuads<int8_t>(table.u32, StoredAs::kS8);
  table.unsigned_quads = MakeQuads<uint8_t>(table.u32, StoredAs::kU8);
  table.gemv.by_column[static_cast<int>(StoredAs::kSame)] = ByColumnAny<float>;
  table.gemv.by_column[static_cast<int>(StoredAs::kBf16)] = ByColumnAny<Bf16Bits>;
  table.gemv.by_column[static_cast<int>(StoredAs::kF16)] = ByColumnAny<F16Bits>;
  table.gemv.by_row[static_cast<int>(StoredAs::kSame)] = ByRowAny<float>;
  table.gemv.by_row[static_cast<int>(StoredAs::kBf16)] = ByRowAny<Bf16Bits>;
  table.gemv.by_row[static_cast<int>(StoredAs::kF16)] = ByRowAny<F16Bits>;
  table.rows_f32 = Rows<float>;
  table.rows_f64 = Rows<double>;
  table.fft_f32 = MakeFftKernels<float>();
  table.fft_f64 = MakeFftKernels<double>();
  return table;
}

}  // namespace

const KernelTable& HLO_KERNEL_TABLE() {
  static const KernelTable table = MakeTable();
  return table;
}

}  // namespace hlo::cpu
