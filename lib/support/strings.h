// Small text helpers. Debian's abseil has a string_view of its own, so the two bridges live here
// and nowhere else.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"

namespace hlo {

inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view ToStd(absl::string_view s) { return {s.data(), s.size()}; }

// The items' texts (strings or numbers) with `separator` between them.
template <class Range>
std::string Join(const Range& items, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    out += fmt::format("{}", item);
  }
  return out;
}

// Non-overlapping pieces between separators; empty pieces are kept.
std::vector<std::string_view> Split(std::string_view text, char separator);
// Without leading and trailing blanks.
std::string_view Trim(std::string_view text);
// C-escape as XLA prints strings: \n \r \t \" \' \\, other bytes outside printable ASCII as \ooo.
std::string CEscape(std::string_view text);
// Undoes C escapes; nullopt for a malformed one.
std::optional<std::string> CUnescape(std::string_view text);
// 0 to 15, -1 where `c` is no hexadecimal digit.
int HexDigit(char c);
// Levenshtein distance, at most `limit` + 1.
int EditDistance(std::string_view a, std::string_view b, int limit);
// The candidate closest to `word` when it is close enough to be a typing error, else "". Ties: the
// first.
std::string_view Closest(std::string_view word, std::span<const std::string_view> candidates);
// "; did you mean `x`?" or "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace hlo
