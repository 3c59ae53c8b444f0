// lib/eval/random_bits.h
//
// How the words of the two counter-based generators (lib/math/random.h) fill an array: a state and
// a shape give the same words everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace hlo {

struct Counter128 {
  uint64_t low = 0;
  uint64_t high = 0;
  void Advance(uint64_t steps);
};

// Where the counter of a `rng-get-and-update-state` begins.
inline constexpr uint64_t kInitialRngCounter = 0x7012395;

// `count` words in row-major order from the counter on, which is advanced past the blocks that were
// used.
std::vector<uint32_t> PhiloxWords32(uint64_t key, Counter128& counter, int64_t count);
std::vector<uint64_t> PhiloxWords64(uint64_t key, Counter128& counter, int64_t count);
// The 32-bit words of an array: each block fills two neighbours along the first dimension of even
// size (else the largest one).
std::vector<uint32_t> ThreeFryWords32(uint64_t key, uint64_t& counter,
                                      absl::Span<const int64_t> dims);
std::vector<uint64_t> ThreeFryWords64(uint64_t key, uint64_t& counter, int64_t count);

// The dimension along which pairs of words lie: the first of even size, else the first of the
// largest size; -1 for a scalar.
int PairDimension(absl::Span<const int64_t> dims);

}  // namespace hlo
