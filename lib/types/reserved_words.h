// The reserved words of HLO text (reserved_words.def), for the parser, the printer and the fuzzer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

namespace hlo {

inline constexpr std::string_view kReservedWords[] = {
#define HLO_RESERVED_WORD(token, text) text,
#include "lib/types/reserved_words.def"
};

namespace internal {

// The words by their size: those of size n are words[first[n]] to words[first[n + 1]]. The lexer
// asks for every identifier, and most sizes have no word.
struct ReservedWordsBySize {
  static constexpr size_t kLongest = 23;
  std::array<uint8_t, std::size(kReservedWords)> words{};
  std::array<uint8_t, kLongest + 2> first{};

  constexpr ReservedWordsBySize() {
    size_t count = 0;
    for (size_t size = 0; size <= kLongest; ++size) {
      first[size] = static_cast<uint8_t>(count);
      for (size_t i = 0; i < words.size(); ++i) {
        if (kReservedWords[i].size() == size) words[count++] = static_cast<uint8_t>(i);
      }
    }
    first[kLongest + 1] = static_cast<uint8_t>(count);
  }
};
inline constexpr ReservedWordsBySize kReservedWordsBySize;
static_assert(kReservedWordsBySize.first.back() == std::size(kReservedWords), "a longer word");

}  // namespace internal

// The row of a reserved word, or -1.
inline int FindReservedWord(std::string_view word) {
  const internal::ReservedWordsBySize& by_size = internal::kReservedWordsBySize;
  if (word.size() > by_size.kLongest) return -1;
  for (size_t i = by_size.first[word.size()]; i < by_size.first[word.size() + 1]; ++i) {
    const std::string_view text = kReservedWords[by_size.words[i]];
    if (text[0] == word[0] && std::memcmp(text.data(), word.data(), word.size()) == 0)
      return by_size.words[i];
  }
  return -1;
}
inline bool IsReservedWord(std::string_view word) { return FindReservedWord(word) >= 0; }

}  // namespace hlo
