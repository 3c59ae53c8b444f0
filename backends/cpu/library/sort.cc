// See sort.h. A key of up to 32 bits travels with its position in one 64-bit word, so equal keys
// stay in order by themselves; longer keys travel beside their position. Long rows are sorted by
// digits (least first, skipping digits that are all alike), short ones by comparison.
#include "backends/cpu/library/sort.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/cpu/library/sort_keys.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kDigitSort = 700;  // rows from here on are sorted by digits
constexpr int64_t kLineBytes = 64;

// A key of more than 32 bits and its position.
struct LongItem {
  uint64_t key;
  uint32_t index;
  friend bool operator<(const LongItem& a, const LongItem& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

uint64_t KeyOf(uint64_t item) { return item >> 32; }
uint64_t KeyOf(const LongItem& item) { return item.key; }
uint32_t IndexOf(uint64_t item) { return static_cast<uint32_t>(item); }
uint32_t IndexOf(const LongItem& item) { return item.index; }

// Sorts by digits of `kDigitBits` bits; `items` and `other` trade places. Returns where the result
// is.
template <class Item>
Item* SortByDigits(Item* items, Item* other, int64_t count, int key_bits) {
  constexpr int kDigitBits = 11;
  constexpr int kDigits = 1 << kDigitBits;
  for (int shift = 0; shift < key_bits; shift += kDigitBits) {
    std::array<uint32_t, kDigits> start{};
    const auto digit = [shift](const Item& item) { return (KeyOf(item) >> shift) & (kDigits - 1); };
    for (int64_t i = 0; i < count; ++i) ++start[digit(items[i])];
    if (start[digit(items[0])] == static_cast<uint32_t>(count)) continue;
    uint32_t sum = 0;
    for (uint32_t& s : start) sum += std::exchange(s, sum);
    for (int64_t i = 0; i < count; ++i) other[start[digit(items[i])]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

template <class Item>
Item* SortItems(Item* items, Item* other, int64_t count, int key_bits) {
  if (count >= kDigitSort) return SortByDigits(items, other, count, key_bits);
  std::sort(items, items + count);
  return items;
}

// Gathers one operand of a row into `buffer`, in sorted order, and stores it.
template <class Word, class Item>
void Permute(const void* input, void* output, int64_t start, int64_t stride, int64_t count,
             const Item* items, void* buffer) {
  const Word* from = static_cast<const Word*>(input) + start;
  Word* to = static_cast<Word*>(output) + start;
  Word* sorted = static_cast<Word*>(buffer);
  for (int64_t i = 0; i < count; ++i) sorted[i] = from[IndexOf(items[i]) * stride];
  if (stride == 1) {
    std::copy_n(sorted, count, to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * stride] = sorted[i];
}

struct Word16 {
  uint64_t low, high;
};

template <class Item>
void PermuteBytes(int bytes, const void* input, void* output, int64_t start, int64_t stride,
                  int64_t count, const Item* items, void* buffer) {
  switch (bytes) {
    case 1: return Permute<uint8_t>(input, output, start, stride, count, items, buffer);
    case 2: return Permute<uint16_t>(input, output, start, stride, count, items, buffer);
    case 4: return Permute<uint32_t>(input, output, start, stride, count, items, buffer);
    case 8: return Permute<uint64_t>(input, output, start, stride, count, items, buffer);
    case 16: return Permute<Word16>(input, output, start, stride, count, items, buffer);
    default: return;  // no element has another size
  }
}

// Writes the keys of a row with their positions.
template <class S, class Item>
void ReadItems(const S* row, int64_t stride, int64_t count, FloatOrder order, bool descending,
               Item* items) {
  using Bits = decltype(KeyBits(S{}));
  for (int64_t i = 0; i < count; ++i) {
    Bits key = EncodeKey(row[i * stride], order);
    if (descending) key = static_cast<Bits>(~key);
    if constexpr (std::is_same_v<Item, uint64_t>) {
      items[i] = (uint64_t{key} << 32) | static_cast<uint32_t>(i);
    } else {
      items[i] = {key, static_cast<uint32_t>(i)};
    }
  }
}

template <class S>
constexpr bool kHasOrder =
    !std::is_same_v<S, std::complex<float>> && !std::is_same_v<S, std::complex<double>>;

template <class S>
class Sort final : public SortKernel {
 public:
  using Bits = decltype(KeyBits(S{}));
  using Item = std::conditional_t<(sizeof(Bits) > 4), LongItem, uint64_t>;

  explicit Sort(SortSpec spec) : spec_(std::move(spec)) {
    items_bytes_ = RoundUp(spec_.size * int64_t{sizeof(Item)}, kLineBytes);
    worker_bytes_ = 2 * items_bytes_ + RoundUp(spec_.size * int64_t{sizeof(Word16)}, kLineBytes);
  }

  int64_t scratch_bytes() const override { return worker_bytes_ * spec_.threads; }

  void Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, void* scratch,
           ThreadPool& pool) const override {
    const int64_t rows = spec_.outer * spec_.inner;
    pool.ParallelFor(rows, [&](int64_t row, int worker) {
      char* const memory = static_cast<char*>(scratch) + worker_bytes_ * worker;
      SortRow(inputs, outputs, row, memory);
    });
  }

 private:
  void SortRow(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, int64_t row,
               char* memory) const {
    Item* items = reinterpret_cast<Item*>(memory);
    Item* const other = reinterpret_cast<Item*>(memory + items_bytes_);
    void* const buffer = memory + 2 * items_bytes_;
    const int64_t start = row / spec_.inner * spec_.size * spec_.inner + row % spec_.inner;
    const auto key = static_cast<size_t>(spec_.key);
    ReadItems(static_cast<const S*>(inputs[key]) + start, spec_.inner, spec_.size, spec_.order,
              spec_.descending, items);
    items = SortItems(items, other, spec_.size, int{sizeof(Bits)} * 8);
    for (size_t i = 0; i < inputs.size(); ++i) {
      PermuteBytes(ByteSize(spec_.operands[i]), inputs[i], outputs[i], start, spec_.inner,
                   spec_.size, items, buffer);
    }
  }

  SortSpec spec_;
  int64_t items_bytes_, worker_bytes_;
};

template <class S>
class TopK final : public TopKKernel {
 public:
  using Bits = decltype(KeyBits(S{}));
  using Item = std::conditional_t<(sizeof(Bits) > 4), LongItem, uint64_t>;

  explicit TopK(const TopKSpec& spec) : spec_(spec) {
    // Candidates gather in twice k places, then the worse half is dropped.
    capacity_ = std::min(spec.size, std::max<int64_t>(2 * spec.k, 64));
    worker_bytes_ = RoundUp(capacity_ * int64_t{sizeof(Item)}, kLineBytes);
  }

  int64_t scratch_bytes() const override { return worker_bytes_ * spec_.threads; }

  void Run(const void* input, void* values, int32_t* indices, void* scratch,
           ThreadPool& pool) const override {
    if (spec_.k == 0) return;
    pool.ParallelFor(spec_.rows, [&](int64_t row, int worker) {
      auto* const items =
          reinterpret_cast<Item*>(static_cast<char*>(scratch) + worker_bytes_ * worker);
      const S* const from = static_cast<const S*>(input) + row * spec_.size;
      Select(from, items);
      for (int64_t i = 0; i < spec_.k; ++i) {
        const uint32_t index = IndexOf(items[i]);
        static_cast<S*>(values)[row * spec_.k + i] = from[index];
        indices[row * spec_.k + i] = static_cast<int32_t>(index);
      }
    });
  }

 private:
  // The items of the result come first in `items`, in order.
  void Select(const S* from, Item* items) const {
    const auto rank = [this](const S& x) {
      const Bits key = EncodeKey(x, FloatOrder::kTotal);
      return spec_.largest ? static_cast<Bits>(~key) : key;
    };
    int64_t count = 0;
    Bits limit = std::numeric_limits<Bits>::max();  // later elements must be below to matter
    bool limited = false;
    for (int64_t i = 0; i < spec_.size; ++i) {
      const Bits key = rank(from[i]);
      if (limited && key >= limit) continue;
      if (count == capacity_) {
        std::nth_element(items, items + (spec_.k - 1), items + count);
        count = spec_.k;
        limit = static_cast<Bits>(KeyOf(items[spec_.k - 1]));
        limited = true;
        if (key >= limit) continue;
      }
      if constexpr (std::is_same_v<Item, uint64_t>) {
        items[count++] = (uint64_t{key} << 32) | static_cast<uint32_t>(i);
      } else {
        items[count++] = {key, static_cast<uint32_t>(i)};
      }
    }
    std::partial_sort(items, items + spec_.k, items + count);
  }

  TopKSpec spec_;
  int64_t capacity_, worker_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SortKernel>> MakeSort(const SortSpec& spec) {
  RET_CHECK(spec.key >= 0 && static_cast<size_t>(spec.key) < spec.operands.size(),
            "a sort without its key");
  RET_CHECK(spec.size < std::numeric_limits<uint32_t>::max(), "a sort of {} elements", spec.size);
  const ElementType type = spec.operands[static_cast<size_t>(spec.key)];
  RET_CHECK(IsArrayType(type), "a sort of a type without elements");
  if (IsComplex(type)) return Unsupported(SourceLoc(), "`{}` has no order to sort by", Text(type));
  return WithNativeType(type, [&]<class S>() -> std::unique_ptr<SortKernel> {
    if constexpr (kHasOrder<S>) {
      return std::make_unique<Sort<S>>(spec);
    } else {
      return nullptr;
    }
  });
}

absl::StatusOr<std::unique_ptr<TopKKernel>> MakeTopK(const TopKSpec& spec) {
  RET_CHECK(spec.k >= 0 && spec.k <= spec.size, "top {} of {} elements", spec.k, spec.size);
  RET_CHECK(spec.size <= std::numeric_limits<int32_t>::max(), "top-k of {} elements", spec.size);
  RET_CHECK(IsArrayType(spec.type), "top-k of a type without elements");
  if (IsComplex(spec.type))
    return Unsupported(SourceLoc(), "`{}` has no order for top-k", Text(spec.type));
  return WithNativeType(spec.type, [&]<class S>() -> std::unique_ptr<TopKKernel> {
    if constexpr (kHasOrder<S>) {
      return std::make_unique<TopK<S>>(spec);
    } else {
      return nullptr;
    }
  });
}

}  // namespace hlo::cpu
