#include "lib/ir/name_uniquer.h"

#include <charconv>

#include "lib/support/strings.h"
#include "lib/types/element_type.h"

namespace hlo {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

struct NameChars {
  bool in[256] = {};
  constexpr NameChars() {
    for (int c = 'a'; c <= 'z'; ++c) in[c] = in[c - 'a' + 'A'] = true;
    for (int c = '0'; c <= '9'; ++c) in[c] = true;
    in['_'] = in['.'] = in['-'] = true;
  }
};
constexpr NameChars kNameChars;
bool IsNameChar(char c) { return kNameChars.in[static_cast<unsigned char>(c)]; }

// Element types are short; nearly all have a digit in second place.
bool MayBeType(std::string_view name) {
  if (name.size() < 2 || name.size() > 13) return false;
  return (name[1] >= '0' && name[1] <= '9') || name == "pred" || name == "bf16" ||
         name == "token" || name == "opaque";
}

}  // namespace

bool IsSanitizedName(std::string_view name) {
  if (name.empty() || !IsLetter(name[0])) return false;
  for (const char c : name) {
    if (!IsNameChar(c)) return false;
  }
  if (MayBeType(name) && ElementTypeFromText(name).has_value()) return false;
  return !(name.starts_with("__") && !name.starts_with("__xla_"));
}

std::string SanitizeName(std::string_view name) {
  std::string result(name);
  if (result.empty()) return "_";
  if (!IsLetter(result[0])) result[0] = '_';
  for (char& c : result) {
    if (!IsNameChar(c)) c = '_';
  }
  if (ElementTypeFromText(result).has_value()) result += '_';
  if (result.starts_with("__") && !result.starts_with("__xla_")) result[0] = 'a';
  return result;
}

namespace {

// A name split at the last dot that stands before an integer.
struct Parts {
  std::string_view root;
  int64_t number = 0;
  bool has_suffix = false;
  bool canonical = true;  // the number is written the way it prints
};

Parts SplitName(std::string_view name) {
  if (name.empty() || name.back() < '0' || name.back() > '9') return {name};
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 >= name.size()) return {name};
  const std::string_view digits = name.substr(dot + 1);
  Parts parts{name.substr(0, dot), 0, true, true};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parts.number);
  if (error != std::errc() || end != digits.data() + digits.size()) return {name};
  parts.canonical = digits[0] == '0' ? digits.size() == 1 : digits[0] != '-' || digits[1] != '0';
  return parts;
}

}  // namespace

bool NameUniquer::TakeAsIs(std::string_view name) {
  const Parts parts = SplitName(name);
  if (!parts.canonical || !IsSanitizedName(name)) return false;
  return taken_.insert(parts.has_suffix && parts.number == 0 ? parts.root : name).second;
}

std::string NameUniquer::Unique(std::string_view name) {
  const std::string clean = IsSanitizedName(name) ? std::string(name) : SanitizeName(name);
  const Parts parts = SplitName(clean);
  const auto numbered = [&parts](int64_t number) {
    std::string result(parts.root);
    if (number != 0) {
      result += '.';
      result += std::to_string(number);
    }
    return result;
  };
  std::string result = numbered(parts.number);
  bool is_zero = parts.number == 0;
  if (taken_.contains(result)) {
    int64_t& next = next_[std::string(parts.root)];
    while (taken_.contains(result = numbered(next))) ++next;
    is_zero = next++ == 0;
  }
  owned_.push_back(std::make_unique_for_overwrite<char[]>(result.size()));
  result.copy(owned_.back().get(), result.size());
  taken_.insert({owned_.back().get(), result.size()});
  if (is_zero && parts.has_suffix) result += ".0";
  return result;
}

void NameUniquer::Clear() {
  taken_.clear();
  next_.clear();
  owned_.clear();
}

}  // namespace hlo
