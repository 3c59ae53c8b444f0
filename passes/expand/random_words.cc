#include "passes/expand/random_words.h"

#include <array>

#include "lib/eval/random_bits.h"
#include "lib/types/shape_util.h"
#include "passes/expand/unsigned_type.h"

namespace hlo {
namespace {

// A scalar constant, exact for all 64 bits.
Instruction* Word(Builder& b, ElementType type, uint64_t value) {
  return b.Constant(Literal::Scalar<uint64_t>(type, value));
}

// A scalar in the sizes of `like`.
Instruction* Spread(Builder& b, Instruction* scalar, const Instruction* like) {
  return like->shape().rank() == 0 ? scalar : b.Broadcast(scalar, like->shape().dims(), {});
}

Instruction* WordLike(Builder& b, const Instruction* like, uint64_t value) {
  return Spread(b, Word(b, like->shape().element_type(), value), like);
}

struct Halves {
  Instruction* low;
  Instruction* high;
};
// The halves of u64 words, as u32.
Halves SplitWords(Builder& b, Instruction* words) {
  return {b.Convert(words, ElementType::kU32),
          b.Convert(b.ShiftRightLogical(words, WordLike(b, words, 32)), ElementType::kU32)};
}

Instruction* Join(Builder& b, Instruction* low, Instruction* high) {
  Instruction* wide = b.Convert(high, ElementType::kU64);
  return b.Or(b.Convert(low, ElementType::kU64), b.ShiftLeft(wide, WordLike(b, wide, 32)));
}

// counter + steps for each of `steps`, a u64 array or scalar.
CounterWords Advance(Builder& b, CounterWords counter, Instruction* steps) {
  Instruction* start = Spread(b, counter.low, steps);
  Instruction* low = b.Add(start, steps);
  Instruction* carry =
      b.Convert(b.Compare(low, start, ComparisonDirection::kLt), ElementType::kU64);
  return {low, b.Add(Spread(b, counter.high, steps), carry)};
}

Instruction* Numbers(Builder& b, int64_t count) {
  return b.Iota(Shape::Array(ElementType::kU64, std::vector<int64_t>{count}), 0);
}

// The words of arrays of one dimension in turn: a0, b0, …, a1, b1, …; the first `count`, in sizes `dims`.
Instruction* Interleave(Builder& b, const std::vector<Instruction*>& arrays, int64_t count,
                        absl::Span<const int64_t> dims) {
  const int64_t length = arrays[0]->shape().dim(0);
  std::vector<Instruction*> columns;
  for (Instruction* array : arrays) columns.push_back(b.Reshape(array, {length, 1}));
  const int64_t all = length * static_cast<int64_t>(arrays.size());
  Instruction* flat = b.Reshape(b.Concatenate(columns, 1), {all});
  if (all > count) flat = b.Slice(flat, {0}, {count});
  return dims.size() == 1 ? flat : b.Reshape(flat, dims);
}

// ---- Philox4x32-10 ----

// One block of four u32 words for each counter.
std::array<Instruction*, 4> PhiloxBlocks(Builder& b, CounterWords counters, Instruction* key) {
  constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint64_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};
  const Halves low = SplitWords(b, counters.low), high = SplitWords(b, counters.high);
  std::array<Instruction*, 4> x = {low.low, low.high, high.low, high.high};
  Halves keys = SplitWords(b, key);
  const auto multiply = [&](Instruction* word, uint64_t by) {
    Instruction* wide = b.Convert(word, ElementType::kU64);
    return SplitWords(b, b.Multiply(wide, WordLike(b, wide, by)));
  };
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      keys.low = b.Add(keys.low, Word(b, ElementType::kU32, kKeySteps[0]));
      keys.high = b.Add(keys.high, Word(b, ElementType::kU32, kKeySteps[1]));
    }
    const Halves p0 = multiply(x[0], kMultipliers[0]), p1 = multiply(x[2], kMultipliers[1]);
    x = {b.Xor(b.Xor(p1.high, x[1]), Spread(b, keys.low, x[1])), p1.low,
         b.Xor(b.Xor(p0.high, x[3]), Spread(b, keys.high, x[3])), p0.low};
  }
  return x;
}

// ---- Threefry2x32-20 ----

Halves ThreeFryBlocks(Builder& b, Instruction* counters, Instruction* key) {
  constexpr uint64_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Halves keys = SplitWords(b, key);
  Instruction* mixed = b.Xor(b.Xor(keys.low, keys.high), Word(b, ElementType::kU32, 0x1BD11BDA));
  const std::array<Instruction*, 3> schedule = {keys.low, keys.high, mixed};
  Halves x = SplitWords(b, counters);
  x.low = b.Add(x.low, Spread(b, schedule[0], x.low));
  x.high = b.Add(x.high, Spread(b, schedule[1], x.high));
  for (uint64_t group = 1; group <= 5; ++group) {
    for (const uint64_t rotation : kRotations[(group - 1) % 2]) {
      x.low = b.Add(x.low, x.high);
      Instruction* rotated = b.Or(b.ShiftLeft(x.high, WordLike(b, x.high, rotation)),
                                  b.ShiftRightLogical(x.high, WordLike(b, x.high, 32 - rotation)));
      x.high = b.Xor(rotated, x.low);
    }
    Instruction* step = b.Add(schedule[(group + 1) % 3], Word(b, ElementType::kU32, group));
    x.low = b.Add(x.low, Spread(b, schedule[group % 3], x.low));
    x.high = b.Add(x.high, Spread(b, step, x.high));
  }
  return x;
}

// counter + number of the block, for blocks in the sizes `dims`; and the counter behind them.
std::pair<Instruction*, Instruction*> BlockCounters(Builder& b, Instruction* counter,
                                                    absl::Span<const int64_t> dims) {
  const int64_t count = Product(dims);
  Instruction* numbers = Numbers(b, count);
  Instruction* counters = b.Add(Spread(b, counter, numbers), numbers);
  return {dims.size() == 1 ? counters : b.Reshape(counters, dims),
          b.Add(counter, Word(b, ElementType::kU64, static_cast<uint64_t>(count)))};
}

bool IsWide(Shape shape) { return BitWidth(shape.element_type()) == 64; }

}  // namespace

std::pair<Instruction*, CounterWords> PhiloxWords(Builder& b, Instruction* key,
                                                  CounterWords counter, Shape shape) {
  const int64_t count = shape.element_count();
  const int64_t per_block = IsWide(shape) ? 2 : 4;
  const int64_t blocks = (count + per_block - 1) / per_block;
  const auto x = PhiloxBlocks(b, Advance(b, counter, Numbers(b, blocks)), key);
  Instruction* words = nullptr;
  if (IsWide(shape)) {
    words = Interleave(b, {Join(b, x[0], x[1]), Join(b, x[2], x[3])}, count, shape.dims());
  } else {
    words = Interleave(b, {x.begin(), x.end()}, count, shape.dims());
  }
  return {words, Advance(b, counter, Word(b, ElementType::kU64, static_cast<uint64_t>(blocks)))};
}

std::pair<Instruction*, Instruction*> ThreeFryWords(Builder& b, Instruction* key,
                                                    Instruction* counter, Shape shape) {
  const absl::Span<const int64_t> dims = shape.dims();
  if (IsWide(shape)) {
    const auto [counters, next] = BlockCounters(b, counter, dims);
    const Halves x = ThreeFryBlocks(b, counters, key);
    return {Join(b, x.low, x.high), next};
  }
  if (dims.empty()) {
    const auto [counters, next] = BlockCounters(b, counter, dims);
    return {ThreeFryBlocks(b, counters, key).low, next};
  }
  const auto [counters, next] = BlockCounters(b, counter, HalvedSizes(dims));
  const Halves x = ThreeFryBlocks(b, counters, key);
  return {AlternateHalves(b, x.low, x.high, dims), next};
}

std::vector<int64_t> HalvedSizes(absl::Span<const int64_t> dims) {
  std::vector<int64_t> half(dims.begin(), dims.end());
  int64_t& size = half[static_cast<size_t>(PairDimension(dims))];
  size = (size + 1) / 2;
  return half;
}

Instruction* AlternateHalves(Builder& b, Instruction* first, Instruction* second,
                             absl::Span<const int64_t> dims) {
  const int pair = PairDimension(dims);
  std::vector<int64_t> apart = HalvedSizes(dims), even = apart;
  apart.insert(apart.begin() + pair + 1, 1);
  even[static_cast<size_t>(pair)] *= 2;
  Instruction* both = b.Concatenate({b.Reshape(first, apart), b.Reshape(second, apart)}, pair + 1);
  Instruction* joined = b.Reshape(both, even);
  if (even[static_cast<size_t>(pair)] == dims[static_cast<size_t>(pair)]) return joined;
  return b.Slice(joined, std::vector<int64_t>(dims.size(), 0), dims);
}

Instruction* WordsAs(Builder& b, Instruction* words, ElementType type) {
  const ElementType whole = *UnsignedOfWidth(BitWidth(type));
  Instruction* narrow = whole == words->shape().element_type() ? words : b.Convert(words, whole);
  return type == whole ? narrow : b.BitcastConvert(narrow, narrow->shape().WithElementType(type));
}

}  // namespace hlo
