// Products by the tile registers of AMX: eight squares of 16 rows of 64 bytes. Four hold sums, of
// 32 rows by 32 columns of the result; a step multiplies 64 bytes of each row by 64 of each column.
// What else the table has is for AVX-512. CMakeLists.txt gives this file its flags; kernels_impl.h
// says what may stand here.
//
// A packed strip is a sequence of steps of 16 words for each of its 32 rows or columns, a word
// being so many neighbours along k as fit: two of bf16, four of a byte. A step of rows has two
// squares of 16 rows, each with the words of a row together. A step of columns has two squares of
// 16 columns, each with a word of all of them together.
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12: intrinsics that fill nothing in

#include <immintrin.h>
#include <stdint.h>

#include <type_traits>

#include "backends/cpu/library/kernels.h"

namespace hlo::cpu {
namespace {

constexpr int kSide = 16;                  // rows of a square, and words of each
constexpr int kWidth = 2 * kSide;          // rows, or columns, of a strip
constexpr int kSquare = kSide * kSide;     // words
constexpr int kWordsOfStep = 2 * kSquare;  // of a strip

// What a tile register holds, by its number; the rest of the configuration is zero.
struct alignas(64) Configuration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Configuration kConfiguration;

enum class Kind { kBf16, kSS, kSU, kUS, kUU };  // signs of the bytes of rows and of columns

// Tile registers are numbers in the instructions.
#define HLO_MULTIPLY(sum, row, column)                                    \
  do {                                                                    \
    if constexpr (kKind == Kind::kBf16) _tile_dpbf16ps(sum, row, column); \
    if constexpr (kKind == Kind::kSS) _tile_dpbssd(sum, row, column);     \
    if constexpr (kKind == Kind::kSU) _tile_dpbsud(sum, row, column);     \
    if constexpr (kKind == Kind::kUS) _tile_dpbusd(sum, row, column);     \
    if constexpr (kKind == Kind::kUU) _tile_dpbuud(sum, row, column);     \
  } while (false)

template <class T, Kind kKind>
void Tile(int64_t depth, const T* lhs, const T* rhs, T* tile, int64_t stride, bool accumulate) {
  constexpr int64_t kRowBytes = 64;
  const int64_t tile_bytes = stride * int64_t{sizeof(T)};
  T* const lower = tile + kSide * stride;
  _tile_loadconfig(&kConfiguration);
  if (accumulate) {
    _tile_loadd(0, tile, tile_bytes);
    _tile_loadd(1, tile + kSide, tile_bytes);
    _tile_loadd(2, lower, tile_bytes);
    _tile_loadd(3, lower + kSide, tile_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t k = 0; k < depth; k += kSide, lhs += kWordsOfStep, rhs += kWordsOfStep) {
    _tile_loadd(4, lhs, kRowBytes);
    _tile_loadd(6, rhs, kRowBytes);
    HLO_MULTIPLY(0, 4, 6);
    _tile_loadd(7, rhs + kSquare, kRowBytes);
    HLO_MULTIPLY(1, 4, 7);
    _tile_loadd(5, lhs + kSquare, kRowBytes);
    HLO_MULTIPLY(2, 5, 6);
    HLO_MULTIPLY(3, 5, 7);
  }
  _tile_stored(0, tile, tile_bytes);
  _tile_stored(1, tile + kSide, tile_bytes);
  _tile_stored(2, lower, tile_bytes);
  _tile_stored(3, lower + kSide, tile_bytes);
  _tile_release();
}
#undef HLO_MULTIPLY

// A word of `kOf` elements along k, of which `count` are there.
template <class Stored, int kOf>
uint32_t WordOf(const Stored* src, int64_t stride_k, int64_t count) {
  constexpr int kBits = 32 / kOf;
  uint32_t word = 0;
  for (int q = 0; q < kOf && q < count; ++q) word |= uint32_t{src[q * stride_k]} << (kBits * q);
  return word;
}

// A word of each of 16 rows or columns that are neighbours in memory.
__m512i Interleave(const uint16_t* src, int64_t stride_k) {
  const auto load = [src](int64_t at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at));
  };
  const __m512i low = _mm512_cvtepu16_epi32(load(0));
  const __m512i high = _mm512_cvtepu16_epi32(load(stride_k));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}
__m512i Interleave(const uint8_t* src, int64_t stride_k) {
  const auto load = [src](int64_t at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + at));
  };
  const __m128i a = load(0), b = load(stride_k), c = load(2 * stride_k), d = load(3 * stride_k);
  const __m256i low = _mm256_set_m128i(_mm_unpackhi_epi8(a, b), _mm_unpacklo_epi8(a, b));
  const __m256i high = _mm256_set_m128i(_mm_unpackhi_epi8(c, d), _mm_unpacklo_epi8(c, d));
  return _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

// A square of 16 words of 16 rows or columns, `count` of which there are, and `left` elements along
// k. Returns whether the words of one stand together (else one of each does): memory says which
// costs less.
template <class Stored>
bool LoadSquare(const Stored* src, int64_t stride_i, int64_t stride_k, int count, int64_t left,
                __m512i (&lines)[kSide]) {
  constexpr int kOf = 4 / int{sizeof(Stored)};
  const bool is_whole = count >= kSide && left >= kSide * kOf;
  if (is_whole && stride_k == 1) {
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) lines[i] = _mm512_loadu_si512(src + i * stride_i);
    return true;
  }
  if (is_whole && stride_i == 1) {
#pragma GCC unroll 16
    for (int w = 0; w < kSide; ++w) lines[w] = Interleave(src + w * kOf * stride_k, stride_k);
    return false;
  }
  alignas(64) uint32_t words[kSide];
  for (int i = 0; i < kSide; ++i) {
    for (int w = 0; w < kSide; ++w) {
      words[w] = i >= count ? 0
                            : WordOf<Stored, kOf>(src + i * stride_i + w * kOf * stride_k, stride_k,
                                                  left - w * kOf);
    }
    lines[i] = _mm512_load_si512(words);
  }
  return true;
}

// Word c of line r becomes word r of line c: first in squares of four by four, then these squares.
void Transpose(__m512i (&x)[kSide]) {
  __m512i y[kSide];
#pragma GCC unroll 4
  for (int q = 0; q < kSide; q += 4) {
    const __m512i a = _mm512_unpacklo_epi32(x[q], x[q + 1]);
    const __m512i b = _mm512_unpackhi_epi32(x[q], x[q + 1]);
    const __m512i c = _mm512_unpacklo_epi32(x[q + 2], x[q + 3]);
    const __m512i d = _mm512_unpackhi_epi32(x[q + 2], x[q + 3]);
    y[q] = _mm512_unpacklo_epi64(a, c);
    y[q + 1] = _mm512_unpackhi_epi64(a, c);
    y[q + 2] = _mm512_unpacklo_epi64(b, d);
    y[q + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const __m512i a = _mm512_shuffle_i32x4(y[r], y[4 + r], 0x88);  // 0 2 of both
    const __m512i b = _mm512_shuffle_i32x4(y[r], y[4 + r], 0xdd);  // 1 3
    const __m512i c = _mm512_shuffle_i32x4(y[8 + r], y[12 + r], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(y[8 + r], y[12 + r], 0xdd);
    x[r] = _mm512_shuffle_i32x4(a, c, 0x88);
    x[8 + r] = _mm512_shuffle_i32x4(a, c, 0xdd);
    x[4 + r] = _mm512_shuffle_i32x4(b, d, 0x88);
    x[12 + r] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

// The words of a row (kOfRows), or one word of all columns, stand together.
template <class Stored, bool kOfRows>
void Pack(const void* source, int64_t stride_i, int64_t stride_k, int count, int64_t depth,
          void* destination) {
  constexpr int64_t kStep = kSide * (4 / int{sizeof(Stored)});
  const Stored* src = static_cast<const Stored*>(source);
  uint32_t* dst = static_cast<uint32_t*>(destination);
  for (int64_t k = 0; k < depth; k += kStep, src += kStep * stride_k) {
    for (int first = 0; first < kWidth; first += kSide, dst += kSquare) {
      __m512i lines[kSide];
      const bool of_rows =
          LoadSquare(src + first * stride_i, stride_i, stride_k, count - first, depth - k, lines);
      if (of_rows != kOfRows) Transpose(lines);
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) _mm512_store_si512(dst + i * kSide, lines[i]);
    }
  }
}

// As the kernels of one element at a time, but for the operands.
template <class T, Kind kKind>
GemmKernels<T> MakeTiles(GemmKernels<T> k, StoredAs lhs, StoredAs rhs) {
  using Stored = std::conditional_t<kKind == Kind::kBf16, uint16_t, uint8_t>;
  k.rows = k.columns = kWidth;
  k.group = kKind == Kind::kBf16 ? 2 * kSide : 4 * kSide;
  k.words = kSide;
  k.depth = 16 * k.group;  // columns of so many stay in the first cache
  k.tile = Tile<T, kKind>;
  for (auto& tile : k.tile_in_place) tile = nullptr;
  for (int i = 0; i < kStoredAsCount; ++i) k.pack_lhs[i] = k.pack_rhs[i] = nullptr;
  k.pack_lhs[static_cast<int>(lhs)] = Pack<Stored, true>;
  k.pack_rhs[static_cast<int>(rhs)] = Pack<Stored, false>;
  return k;
}

KernelTable MakeTable() {
  constexpr StoredAs kS8 = StoredAs::kS8, kU8 = StoredAs::kU8;
  KernelTable table = Avx512Kernels();
  table.bf16_tiles = MakeTiles<float, Kind::kBf16>(table.f32, StoredAs::kBf16, StoredAs::kBf16);
  table.byte_tiles[0] = MakeTiles<uint32_t, Kind::kSS>(table.u32, kS8, kS8);
  table.byte_tiles[1] = MakeTiles<uint32_t, Kind::kSU>(table.u32, kS8, kU8);
  table.byte_tiles[2] = MakeTiles<uint32_t, Kind::kUS>(table.u32, kU8, kS8);
  table.byte_tiles[3] = MakeTiles<uint32_t, Kind::kUU>(table.u32, kU8, kU8);
  return table;
}

}  // namespace

const KernelTable& AmxKernels() {
  static const KernelTable table = MakeTable();
  return table;
}

}  // namespace hlo::cpu
