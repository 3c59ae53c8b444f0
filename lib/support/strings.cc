#include "lib/support/strings.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "lib/support/utf8.h"

namespace hlo {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// Reads the escape whose letter stands at text[at]; moves `at` past it.
bool UnescapeOne(std::string_view text, size_t& at, std::string& out) {
  static constexpr std::string_view kLetters = "abfnrtv\\?'\"";
  static constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\?'\"";
  const char letter = text[at++];
  if (const size_t k = kLetters.find(letter); k != std::string_view::npos) {
    out += kValues[k];
    return true;
  }
  uint32_t value = 0;
  if (IsOctal(letter)) {
    value = static_cast<uint32_t>(letter - '0');
    for (int i = 0; i < 2 && at < text.size() && IsOctal(text[at]); ++i) {
      value = value * 8 + static_cast<uint32_t>(text[at++] - '0');
    }
    if (value > 0xFF) return false;
    out += static_cast<char>(value);
    return true;
  }
  if (letter == 'x' || letter == 'X') {
    const size_t start = at;
    while (at < text.size() && HexDigit(text[at]) >= 0) {
      value = value * 16 + static_cast<uint32_t>(HexDigit(text[at++]));
      if (value > 0xFF) return false;
    }
    if (at == start) return false;
    out += static_cast<char>(value);
    return true;
  }
  if (letter == 'u' || letter == 'U') {
    const size_t count = letter == 'u' ? 4 : 8;
    for (size_t i = 0; i < count; ++i, ++at) {
      if (at >= text.size() || HexDigit(text[at]) < 0) return false;
      value = value * 16 + static_cast<uint32_t>(HexDigit(text[at]));
    }
    return AppendUtf8(value, out);
  }
  return false;
}

}  // namespace

int HexDigit(char c) {
  if (!absl::ascii_isxdigit(c)) return -1;
  return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string CEscape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '"': out += "\\\""; break;
      case '\'': out += "\\'"; break;
      case '\\': out += "\\\\"; break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
          out += c;
        } else {
          out += '\\';
          out += static_cast<char>('0' + (byte >> 6));
          out += static_cast<char>('0' + (byte >> 3 & 7));
          out += static_cast<char>('0' + (byte & 7));
        }
      }
    }
  }
  return out;
}

std::optional<std::string> CUnescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at++];
    if (c != '\\') {
      out += c;
    } else if (at == text.size() || !UnescapeOne(text, at, out)) {
      return std::nullopt;
    }
  }
  return out;
}

int EditDistance(std::string_view a, std::string_view b, int limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (static_cast<int>(b.size() - a.size()) > limit) return limit + 1;
  std::vector<int> row(a.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t j = 1; j <= b.size(); ++j) {
    int diagonal = row[0];
    row[0] = static_cast<int>(j);
    for (size_t i = 1; i <= a.size(); ++i) {
      const int replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({replace, row[i] + 1, row[i - 1] + 1});
    }
  }
  return std::min(row[a.size()], limit + 1);
}

std::string_view Closest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kLongest = 64;  // nobody mistypes a longer word by three letters and asks
  if (word.size() > kLongest) return {};
  const int limit = word.size() <= 2 ? 0 : word.size() <= 4 ? 1 : word.size() <= 8 ? 2 : 3;
  int best = limit + 1;
  std::string_view result;
  for (const std::string_view candidate : candidates) {
    const int distance = EditDistance(word, candidate, limit);
    if (distance < best) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view closest = Closest(word, candidates);
  return closest.empty() ? "" : fmt::format("; did you mean `{}`?", closest);
}

}  // namespace hlo
