#include "lib/eval/random_bits.h"

#include <tuple>

#include "lib/math/random.h"
#include "lib/types/shape_util.h"

namespace hlo {

void Counter128::Advance(uint64_t steps) { std::tie(low, high) = math::Advance(low, high, steps); }

std::vector<uint32_t> PhiloxWords32(uint64_t key, Counter128& counter, int64_t count) {
  std::vector<uint32_t> words;
  for (int64_t i = 0; i < count; i += 4) {
    const auto block = math::PhiloxBlock(counter.low, counter.high, key);
    words.insert(words.end(), block.begin(), block.end());
    counter.Advance(1);
  }
  words.resize(static_cast<size_t>(count));
  return words;
}

std::vector<uint64_t> PhiloxWords64(uint64_t key, Counter128& counter, int64_t count) {
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < count; i += 2) {
    const auto block = math::PhiloxBlock(counter.low, counter.high, key);
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
  const auto next = [&] { return math::ThreeFryBlock(counter++, key); };
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
    const auto block = math::ThreeFryBlock(counter++, key);
    words.push_back(math::JoinWord(block[0], block[1]));
  }
  return words;
}

}  // namespace hlo
