#include "lib/ir/name_uniquer.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "lib/support/strings.h"
#include "lib/types/element_type.h"

namespace hlo {
namespace {

bool MayStartName(char c) { return absl::ascii_isalpha(c) || c == '_'; }

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

}  // namespace

bool IsSanitizedName(std::string_view name) {
  if (name.empty() || !MayStartName(name[0])) return false;
  for (const char c : name) {
    if (!IsNameChar(c)) return false;
  }
  if (MayBeElementType(name) && ElementTypeFromText(name).has_value()) return false;
  return !(name.starts_with("__") && !name.starts_with("__xla_"));
}

std::string SanitizeName(std::string_view name) {
  std::string result(name);
  if (result.empty()) return "_";
  if (!MayStartName(result[0])) result[0] = '_';
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
  std::string_view digits;  // with their sign; empty: no such dot
  bool canonical = true;    // the number is written the way it prints
  bool is_zero() const { return digits.empty() || digits == "0"; }  // where canonical
  int64_t number() const {
    int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
};

Parts SplitName(std::string_view name) {
  size_t first = name.size();
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  if (first == name.size()) return {name, {}};
  size_t begin = first;  // of the digits, or of their sign
  if (begin > 0 && name[begin - 1] == '-') --begin;
  if (begin < 2 || name[begin - 1] != '.') return {name, {}};
  const std::string_view digits = name.substr(begin);
  if (name.size() - first > 18) {
    int64_t number;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc())
      return {name, {}};
  }
  return {name.substr(0, begin - 1), digits,
          name[first] != '0' || (first == begin && first + 1 == name.size())};
}

// Whether `root` with number 0 is written with the number among the taken names. `a.0` is the same
// as `a` and stands as `a`; `a.1.0` is not the same as `a.1`, which is number 1 of `a`.
bool ZeroIsWritten(std::string_view root) { return !SplitName(root).digits.empty(); }

}  // namespace

bool NameUniquer::TakeAsIs(std::string_view name) {
  // Most names end in a number without a leading zero, or in none.
  size_t first = name.size();
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  const bool plain = first == name.size() || (name[first] != '0' && name.size() - first <= 18);
  if (plain && first > 0 && name[first - 1] != '-') return taken_.insert(name).second;
  const Parts parts = SplitName(name);
  if (name.empty() || !parts.canonical) return false;
  const bool bare = parts.is_zero() && !ZeroIsWritten(parts.root);
  return taken_.insert(bare ? parts.root : name).second;
}

std::string NameUniquer::Unique(std::string_view name) {
  const std::string clean = IsSanitizedName(name) ? std::string(name) : SanitizeName(name);
  const Parts parts = SplitName(clean);
  const bool writes_zero = !parts.digits.empty() && ZeroIsWritten(parts.root);
  const auto numbered = [&parts, writes_zero](int64_t number) {
    std::string result(parts.root);
    if (number != 0 || writes_zero) {
      result += '.';
      result += std::to_string(number);
    }
    return result;
  };
  const int64_t own = parts.number();
  std::string result = numbered(own);
  bool is_zero = own == 0;
  if (taken_.contains(result)) {
    int64_t& next = next_[std::string(parts.root)];
    while (taken_.contains(result = numbered(next))) ++next;
    is_zero = next++ == 0;
  }
  owned_.push_back(std::make_unique_for_overwrite<char[]>(result.size()));
  result.copy(owned_.back().get(), result.size());
  taken_.insert({owned_.back().get(), result.size()});
  if (is_zero && !parts.digits.empty() && !writes_zero) result += ".0";
  return result;
}

void NameUniquer::Clear() {
  taken_.clear();
  next_.clear();
  owned_.clear();
}

}  // namespace hlo
