// Random numbers that are the same on every machine for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hlo {

class FuzzRandom {
 public:
  // Seeds are mixed first: with neighbours as states, one stream would be the other's,
  // one draw late.
  explicit FuzzRandom(uint64_t seed) : state_(Mixed(seed * kStep + 0x632be59bd9b4e019ULL)) {}

  uint64_t Next() {
    state_ += kStep;
    return Mixed(state_);
  }
  // 0 to limit - 1; 0 for a limit of 0.
  size_t Below(size_t limit) { return limit == 0 ? 0 : Next() % limit; }
  // True once in n times.
  bool OneIn(size_t n) { return Below(n) == 0; }
  // 1 to limit, small numbers more often.
  size_t Small(size_t limit) { return 1 + Below(1 + Below(limit)); }
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

 private:
  // SplitMix64 (Steele, Lea, Flood 2014).
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  static constexpr uint64_t Mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace hlo
