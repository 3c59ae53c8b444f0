#include "lib/eval/random_bits.h"

#include <bit>

#include "lib/types/shape_util.h"

namespace hlo {

std::array<uint32_t, 4> PhiloxBlock(std::array<uint32_t, 4> x, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x[0], p1 = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

std::array<uint32_t, 2> ThreeFryBlock(std::array<uint32_t, 2> x, uint64_t key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t schedule[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  x[0] += schedule[0];
  x[1] += schedule[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int rotation : kRotations[(group - 1) % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], rotation) ^ x[0];
    }
    x[0] += schedule[group % 3];
    x[1] += schedule[(group + 1) % 3] + group;
  }
  return x;
}

namespace {

std::array<uint32_t, 4> Words(const Counter128& c) {
  return {static_cast<uint32_t>(c.low), static_cast<uint32_t>(c.low >> 32),
          static_cast<uint32_t>(c.high), static_cast<uint32_t>(c.high >> 32)};
}
uint64_t Join(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

}  // namespace

std::vector<uint32_t> PhiloxWords32(uint64_t key, Counter128& counter, int64_t count) {
  std::vector<uint32_t> words;
  for (int64_t i = 0; i < count; i += 4) {
    const auto block = PhiloxBlock(Words(counter), key);
    words.insert(words.end(), block.begin(), block.end());
    counter.Advance(1);
  }
  words.resize(static_cast<size_t>(count));
  return words;
}

std::vector<uint64_t> PhiloxWords64(uint64_t key, Counter128& counter, int64_t count) {
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < count; i += 2) {
    const auto block = PhiloxBlock(Words(counter), key);
    words.push_back(Join(block[0], block[1]));
    words.push_back(Join(block[2], block[3]));
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
  const auto next = [&] {
    const uint64_t t = counter++;
    return ThreeFryBlock({static_cast<uint32_t>(t), static_cast<uint32_t>(t >> 32)}, key);
  };
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
    const uint64_t t = counter++;
    const auto block =
        ThreeFryBlock({static_cast<uint32_t>(t), static_cast<uint32_t>(t >> 32)}, key);
    words.push_back(Join(block[0], block[1]));
  }
  return words;
}

}  // namespace hlo
