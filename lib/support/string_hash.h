// A fast hash of strings for tables that are only looked up: not for values that are stored or
// printed (hash.h has that one).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hlo {

namespace internal {
template <class T>
T LoadBytes(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
// The bytes of a text of at most 8, each at least once, as a number.
inline uint64_t LoadUpTo8(const char* at, size_t size) {
  if (size >= 4) {
    return uint64_t{LoadBytes<uint32_t>(at)} << 32 | LoadBytes<uint32_t>(at + size - 4);
  }
  if (size == 0) return 0;
  const auto byte = [at](size_t i) { return uint64_t{static_cast<unsigned char>(at[i])}; };
  return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}
}  // namespace internal

struct StringHash {
  size_t operator()(std::string_view text) const {
    const char* at = text.data();
    const char* const end = at + text.size();
    uint64_t hash = 0x9e3779b97f4a7c15ULL ^ text.size();
    if (text.size() > 8) {
      for (; end - at > 8; at += 8) hash = Fold(hash ^ internal::LoadBytes<uint64_t>(at));
      return Fold(hash ^ internal::LoadBytes<uint64_t>(end - 8));
    }
    return Fold(hash ^ internal::LoadUpTo8(at, text.size()));
  }

 private:
  static uint64_t Fold(uint64_t value) {
    const auto product = static_cast<unsigned __int128>(value) * 0xa0761d6478bd642fULL;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
};

// As operator==, without a call of the library: for short texts, which are most often equal.
struct StringEqual {
  bool operator()(std::string_view a, std::string_view b) const {
    const size_t size = a.size();
    if (size != b.size()) return false;
    if (size <= 8)
      return internal::LoadUpTo8(a.data(), size) == internal::LoadUpTo8(b.data(), size);
    using internal::LoadBytes;
    for (size_t i = 0; i + 8 < size; i += 8) {
      if (LoadBytes<uint64_t>(a.data() + i) != LoadBytes<uint64_t>(b.data() + i)) return false;
    }
    return LoadBytes<uint64_t>(a.data() + size - 8) == LoadBytes<uint64_t>(b.data() + size - 8);
  }
};

// Keyed by text that lives elsewhere.
template <class T>
using StringViewMap = absl::flat_hash_map<std::string_view, T, StringHash, StringEqual>;
using StringViewSet = absl::flat_hash_set<std::string_view, StringHash, StringEqual>;

}  // namespace hlo
