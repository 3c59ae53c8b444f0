// A fast hash of strings for tables that are only looked up: not for values that are stored or
// printed (hash.h has that one).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hlo {

struct StringHash {
  size_t operator()(std::string_view text) const {
    const char* at = text.data();
    size_t left = text.size();
    uint64_t hash = 0x9e3779b97f4a7c15ULL ^ left;
    for (; left > 8; at += 8, left -= 8) hash = Fold(hash ^ Load(at, 8));
    return Fold(hash ^ Load(at, left));
  }

 private:
  static uint64_t Load(const char* at, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, at, size);
    return value;
  }
  static uint64_t Fold(uint64_t value) {
    const auto product = static_cast<unsigned __int128>(value) * 0xa0761d6478bd642fULL;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
};

// As operator==, which the library does not inline.
struct StringEqual {
  bool operator()(std::string_view a, std::string_view b) const {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
  }
};

// Keyed by text that lives elsewhere.
template <class T>
using StringViewMap = absl::flat_hash_map<std::string_view, T, StringHash, StringEqual>;
using StringViewSet = absl::flat_hash_set<std::string_view, StringHash, StringEqual>;

}  // namespace hlo
