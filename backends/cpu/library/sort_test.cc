#include "backends/cpu/library/sort.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/cpu/library/test_scratch.h"

namespace hlo::cpu {
namespace {

using E = ElementType;

uint64_t Next(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

// Sorts [outer, size, inner] with positions as second operand and compares with std::stable_sort.
template <class T, class Less>
void CheckSort(ElementType type, int64_t outer, int64_t size, int64_t inner, bool descending,
               FloatOrder order, T (*make)(uint64_t), Less less) {
  SortSpec spec;
  spec.outer = outer;
  spec.size = size;
  spec.inner = inner;
  spec.operands = {type, E::kS32};
  spec.descending = descending;
  spec.order = order;
  spec.threads = 2;
  const auto count = static_cast<size_t>(outer * size * inner);
  std::vector<T> keys(count), sorted(count);
  std::vector<int32_t> positions(count), moved(count);
  uint64_t state = 1;
  for (T& key : keys) key = make(Next(state));
  std::iota(positions.begin(), positions.end(), 0);
  const auto sort = MakeSort(spec);
  REQUIRE(sort.ok());
  ThreadPool pool(2);
  Scratch scratch((*sort)->scratch_bytes());
  (*sort)->Run({keys.data(), positions.data()}, {sorted.data(), moved.data()}, scratch.data, pool);
  int64_t wrong = 0;
  for (int64_t row = 0; row < outer * inner; ++row) {
    const int64_t start = row / inner * size * inner + row % inner;
    std::vector<int32_t> want;
    for (int64_t i = 0; i < size; ++i) want.push_back(static_cast<int32_t>(start + i * inner));
    std::stable_sort(want.begin(), want.end(), [&](int32_t a, int32_t b) {
      const T& x = keys[static_cast<size_t>(a)];
      const T& y = keys[static_cast<size_t>(b)];
      return descending ? less(y, x) : less(x, y);
    });
    for (int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<size_t>(start + i * inner);
      const auto from = static_cast<size_t>(want[static_cast<size_t>(i)]);
      wrong += moved[at] != want[static_cast<size_t>(i)];
      wrong += std::memcmp(&sorted[at], &keys[from], sizeof(T)) != 0;
    }
  }
  CAPTURE(outer, size, inner, descending, std::string(Text(type)));
  CHECK(wrong == 0);
}

template <class T, class Less>
void CheckSorts(ElementType type, FloatOrder order, T (*make)(uint64_t), Less less) {
  for (const bool descending : {false, true}) {
    CheckSort<T>(type, 1, 1, 1, descending, order, make, less);
    CheckSort<T>(type, 3, 50, 2, descending, order, make, less);
    CheckSort<T>(type, 1, 3000, 1, descending, order, make, less);
    CheckSort<T>(type, 2, 900, 3, descending, order, make, less);
  }
}

template <class T>
T SmallInteger(uint64_t r) {
  return static_cast<T>(static_cast<int64_t>(r % 200) - 100);
}
template <class T>
T AnyInteger(uint64_t r) {
  return static_cast<T>(r * 0x9e3779b97f4a7c15u);
}

float AnyFloat(uint64_t r) { return std::bit_cast<float>(static_cast<uint32_t>(r * 0x9e3779b9u)); }

// Few values, many of them special.
float SpecialFloat(uint64_t r) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, nan, -nan, 1e-40f, -1e-40f};
  return values[r % 10];
}

bool TotalLess(float a, float b) {
  const auto rank = [](float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? static_cast<int64_t>(std::numeric_limits<int32_t>::min()) - bits - 1
                    : int64_t{bits};
  };
  return rank(a) < rank(b);
}

bool CanonicalLess(float a, float b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

TEST_CASE("integers sort stably in both directions", "[cpu][sort]") {
  const auto less = [](auto a, auto b) { return a < b; };
  CheckSorts<int32_t>(E::kS32, FloatOrder::kTotal, SmallInteger<int32_t>, less);
  CheckSorts<int32_t>(E::kS32, FloatOrder::kTotal, AnyInteger<int32_t>, less);
  CheckSorts<uint32_t>(E::kU32, FloatOrder::kTotal, AnyInteger<uint32_t>, less);
  CheckSorts<int64_t>(E::kS64, FloatOrder::kTotal, AnyInteger<int64_t>, less);
  CheckSorts<uint64_t>(E::kU64, FloatOrder::kTotal, AnyInteger<uint64_t>, less);
  CheckSorts<int8_t>(E::kS8, FloatOrder::kTotal, SmallInteger<int8_t>, less);
  CheckSorts<uint16_t>(E::kU16, FloatOrder::kTotal, AnyInteger<uint16_t>, less);
}

TEST_CASE("floats sort by the total or the canonical order", "[cpu][sort]") {
  CheckSorts<float>(E::kF32, FloatOrder::kTotal, AnyFloat, TotalLess);
  CheckSorts<float>(E::kF32, FloatOrder::kTotal, SpecialFloat, TotalLess);
  CheckSorts<float>(E::kF32, FloatOrder::kCanonical, SpecialFloat, CanonicalLess);
  CheckSorts<double>(
      E::kF64, FloatOrder::kCanonical, [](uint64_t r) { return double{SpecialFloat(r)}; },
      [](double a, double b) {
        return CanonicalLess(static_cast<float>(a), static_cast<float>(b));
      });
  CheckSorts<BF16>(
      E::kBF16, FloatOrder::kTotal, [](uint64_t r) { return BF16::FromFloat(SpecialFloat(r)); },
      [](BF16 a, BF16 b) { return TotalLess(a.ToFloat(), b.ToFloat()); });
  CheckSorts<F8E4M3FN>(
      E::kF8E4M3FN, FloatOrder::kCanonical,
      [](uint64_t r) { return F8E4M3FN::FromBits(static_cast<uint32_t>(r & 0xff)); },
      [](F8E4M3FN a, F8E4M3FN b) { return CanonicalLess(a.ToFloat(), b.ToFloat()); });
}

TEST_CASE("sorting in place", "[cpu][sort]") {
  SortSpec spec;
  spec.size = 5;
  spec.operands = {E::kF64};
  const auto sort = MakeSort(spec);
  REQUIRE(sort.ok());
  std::vector<double> v = {3, -1, 2, 1e300, -5};
  ThreadPool pool(1);
  Scratch scratch((*sort)->scratch_bytes());
  (*sort)->Run({v.data()}, {v.data()}, scratch.data, pool);
  CHECK(v == std::vector<double>{-5, -1, 2, 3, 1e300});
}

TEST_CASE("complex numbers have no order", "[cpu][sort]") {
  SortSpec spec;
  spec.size = 2;
  spec.operands = {E::kC64};
  CHECK(MakeSort(spec).status().code() == absl::StatusCode::kUnimplemented);
}

TEST_CASE("top-k gives the greatest, first among equals first", "[cpu][topk]") {
  for (const int64_t size : {1, 10, 3000}) {
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{7}, size}) {
      for (const bool largest : {true, false}) {
        if (k > size) continue;
        TopKSpec spec;
        spec.rows = 3;
        spec.size = size;
        spec.k = k;
        spec.largest = largest;
        spec.threads = 2;
        std::vector<float> input(static_cast<size_t>(3 * size)), values(static_cast<size_t>(3 * k));
        std::vector<int32_t> indices(static_cast<size_t>(3 * k));
        uint64_t state = 5;
        for (float& x : input) x = static_cast<float>(Next(state) % 500) - 250.0f;
        const auto top = MakeTopK(spec);
        REQUIRE(top.ok());
        ThreadPool pool(2);
        Scratch scratch((*top)->scratch_bytes());
        (*top)->Run(input.data(), values.data(), indices.data(), scratch.data, pool);
        int64_t wrong = 0;
        for (int64_t row = 0; row < 3; ++row) {
          const float* x = input.data() + row * size;
          std::vector<int32_t> want(static_cast<size_t>(size));
          std::iota(want.begin(), want.end(), 0);
          std::stable_sort(want.begin(), want.end(), [&](int32_t a, int32_t b) {
            return largest ? x[a] > x[b] : x[a] < x[b];
          });
          for (int64_t i = 0; i < k; ++i) {
            const auto at = static_cast<size_t>(row * k + i);
            wrong += indices[at] != want[static_cast<size_t>(i)] || values[at] != x[indices[at]];
          }
        }
        CAPTURE(size, k, largest);
        CHECK(wrong == 0);
      }
    }
  }
}

}  // namespace
}  // namespace hlo::cpu
