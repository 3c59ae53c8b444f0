#include "passes/util/random_words.h"

#include <array>

#include "lib/eval/random_bits.h"
#include "lib/math/random.h"
#include "lib/support/round.h"
#include "lib/types/shape_util.h"
#include "passes/util/unsigned_type.h"

namespace hlo {
namespace {

template <class T>
struct Built;

}  // namespace

template <class T>
struct math::ValueTraits<Built<T>> {
  using Scalar = T;
  template <class U>
  using Rebind = Built<U>;
};

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

// An array of T, or a scalar that stands for one, as a value type of lib/math/random.h.
template <class T>
struct Built {
  Builder* b;
  Instruction* x;
};
using Words32 = Built<uint32_t>;
using Words64 = Built<uint64_t>;

template <class T>
constexpr ElementType kTypeOf = sizeof(T) == 8 ? ElementType::kU64 : ElementType::kU32;

// `y` in the sizes of `x`.
template <class T>
Instruction* Fitted(Built<T> y, Built<T> x) {
  return y.x->shape().rank() == x.x->shape().rank() ? y.x : Spread(*y.b, y.x, x.x);
}

template <class T>
Built<T> IntConst(Built<T> like, int64_t value) {
  return {like.b, WordLike(*like.b, like.x, static_cast<uint64_t>(value))};
}
template <class T>
Built<T> Add(Built<T> x, Built<T> y) {
  return {x.b, x.b->Add(x.x, Fitted(y, x))};
}
template <class T>
Built<T> Mul(Built<T> x, Built<T> y) {
  return {x.b, x.b->Multiply(x.x, y.x)};
}
template <class T>
Built<T> Xor(Built<T> x, Built<T> y) {
  return {x.b, x.b->Xor(x.x, Fitted(y, x))};
}
template <class T>
Built<T> Or(Built<T> x, Built<T> y) {
  return {x.b, x.b->Or(x.x, y.x)};
}
template <class T>
Built<T> Shl(Built<T> x, int count) {
  return {x.b, x.b->ShiftLeft(x.x, IntConst(x, count).x)};
}
template <class T>
Built<T> Lshr(Built<T> x, int count) {
  return {x.b, x.b->ShiftRightLogical(x.x, IntConst(x, count).x)};
}
template <class To, class From>
Built<To> Cast(Built<From> x) {
  return {x.b, x.b->Convert(x.x, kTypeOf<To>)};
}

Words64 Wide(Builder& b, Instruction* words) { return {&b, words}; }

Instruction* Join(Words32 low, Words32 high) { return math::JoinWord(low, high).x; }

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

// The words of arrays of one dimension in turn: a0, b0, …, a1, b1, …; the first `count`,
// in sizes `dims`.
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

// One block of four u32 words for each counter.
std::array<Words32, 4> PhiloxBlocks(Builder& b, CounterWords counters, Instruction* key) {
  return math::PhiloxBlock(Wide(b, counters.low), Wide(b, counters.high), Wide(b, key));
}

// One block of two u32 words for each counter.
std::array<Words32, 2> ThreeFryBlocks(Builder& b, Instruction* counters, Instruction* key) {
  return math::ThreeFryBlock(Wide(b, counters), Wide(b, key));
}

// counter + number of the block, for blocks in the sizes `dims`; and the counter after them.
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
  const int64_t blocks = CeilDiv(count, per_block);
  const auto x = PhiloxBlocks(b, Advance(b, counter, Numbers(b, blocks)), key);
  Instruction* words = nullptr;
  if (IsWide(shape)) {
    words = Interleave(b, {Join(x[0], x[1]), Join(x[2], x[3])}, count, shape.dims());
  } else {
    words = Interleave(b, {x[0].x, x[1].x, x[2].x, x[3].x}, count, shape.dims());
  }
  return {words, Advance(b, counter, Word(b, ElementType::kU64, static_cast<uint64_t>(blocks)))};
}

std::pair<Instruction*, Instruction*> ThreeFryWords(Builder& b, Instruction* key,
                                                    Instruction* counter, Shape shape) {
  const absl::Span<const int64_t> dims = shape.dims();
  if (IsWide(shape)) {
    const auto [counters, next] = BlockCounters(b, counter, dims);
    const auto x = ThreeFryBlocks(b, counters, key);
    return {Join(x[0], x[1]), next};
  }
  if (dims.empty()) {
    const auto [counters, next] = BlockCounters(b, counter, dims);
    return {ThreeFryBlocks(b, counters, key)[0].x, next};
  }
  const auto [counters, next] = BlockCounters(b, counter, HalvedSizes(dims));
  const auto x = ThreeFryBlocks(b, counters, key);
  return {AlternateHalves(b, x[0].x, x[1].x, dims), next};
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
