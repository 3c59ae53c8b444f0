#include "lib/eval/random_bits.h"

#include <array>

#include "lib/math/random.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

std::array<uint32_t, 4> Philox(const Counter128& counter, uint64_t key) {
  const auto [c0, c1] = math::SplitWord(counter.low);
  const auto [c2, c3] = math::SplitWord(counter.high);
  const auto [k0, k1] = math::SplitWord(key);
  return math::PhiloxBlock<uint32_t>({c0, c1, c2, c3}, k0, k1);
}

std::array<uint32_t, 2> ThreeFry(uint64_t counter, uint64_t key) {
  const auto [c0, c1] = math::SplitWord(counter);
  const auto [k0, k1] = math::SplitWord(key);
  return math::ThreeFryBlock<uint32_t>({c0, c1}, k0, k1);
}

}  // namespace

std::vector<uint32_t> PhiloxWords32(uint64_t key, Counter128& counter, int64_t count) {
  std::vector<uint32_t> words;
  for (int64_t i = 0; i < count; i += 4) {
    const auto block = Philox(counter, key);
    words.insert(words.end(), block.begin(), block.end());
    counter.Advance(1);
  }
  words.resize(static_cast<size_t>(count));
  return words;
}

std::vector<uint64_t> PhiloxWords64(uint64_t key, Counter128& counter, int64_t count) {
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < count; i += 2) {
    const auto block = Philox(counter, key);
    words.push_back(math::JoinWord(block[0], block[1]));
    words.push_back(math::JoinWord(block[2], block[3]));
    counter.Advance(1);
  }
  words.resize(static_cast<size_t>(count));
  return words;
}

int PairDimension(absl::Span<const int64_t> dims) {
  int chosen = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % 2 == 0) return static_cast<int>(d);
    if (chosen < 0 || dims[d] > dims[static_cast<size_t>(chosen)]) chosen = static_cast<int>(d);
  }
  return chosen;
}

std::vector<uint32_t> ThreeFryWords32(uint64_t key, uint64_t& counter,
                                      absl::Span<const int64_t> dims) {
  const int pair = PairDimension(dims);
  std::vector<uint32_t> words(static_cast<size_t>(Product(dims)));
  const auto next = [&] { return ThreeFry(counter++, key); };
  if (pair < 0) {
    words[0] = next()[0];
    return words;
  }
  const size_t p = static_cast<size_t>(pair);
  DimVec half(dims.begin(), dims.end());
  half[p] = (half[p] + 1) / 2;
  const int64_t blocks = Product(half);
  for (int64_t i = 0; i < blocks; ++i) {
    DimVec index = MultiIndex(i, half);
    index[p] *= 2;
    const auto block = next();
    const int64_t at = LinearIndex(index, dims);
    words[static_cast<size_t>(at)] = block[0];
    if (++index[p] < dims[p]) words[static_cast<size_t>(LinearIndex(index, dims))] = block[1];
  }
  return words;
}

std::vector<uint64_t> ThreeFryWords64(uint64_t key, uint64_t& counter, int64_t count) {
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < count; ++i) {
    const auto block = ThreeFry(counter++, key);
    words.push_back(math::JoinWord(block[0], block[1]));
  }
  return words;
}

}  // namespace hlo
