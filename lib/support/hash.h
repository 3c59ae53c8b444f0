// Deterministic hashing: the same value gives the same 64-bit number in every process (unlike
// absl::Hash).
#pragma once

#include <cstdint>
#include <string_view>

namespace hlo {

// Mixes `value` into `seed`.
constexpr uint64_t HashMix(uint64_t seed, uint64_t value) {
  uint64_t h = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  h ^= h >> 30;
  h *= 0xbf58476d1ce4e5b9ULL;
  h ^= h >> 27;
  h *= 0x94d049bb133111ebULL;
  return h ^ (h >> 31);
}

// Hash of bytes.
constexpr uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325ULL) {
  uint64_t h = seed;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return HashMix(h, bytes.size());
}

}  // namespace hlo
