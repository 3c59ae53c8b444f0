#include "lib/ir/name_uniquer.h"

#include <charconv>

#include "lib/types/element_type.h"

namespace hlo {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameChar(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

}  // namespace

bool IsSanitizedName(std::string_view name) {
  if (name.empty() || !IsLetter(name[0])) return false;
  for (const char c : name) {
    if (!IsNameChar(c)) return false;
  }
  if (name.size() <= 14 && ElementTypeFromText(name).has_value()) return false;
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

int64_t NameUniquer::Numbers::Take(int64_t wanted) {
  if (used.insert(wanted).second) return wanted;
  while (used.contains(next)) ++next;
  used.insert(next);
  return next++;
}

std::string NameUniquer::Unique(std::string_view name) {
  const std::string clean = IsSanitizedName(name) ? std::string(name) : SanitizeName(name);
  std::string_view root = clean;
  int64_t number = 0;
  bool has_suffix = false;
  const size_t dot = root.rfind('.');
  if (dot != std::string_view::npos && dot > 0 && dot + 1 < root.size()) {
    const std::string_view digits = root.substr(dot + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) {
      has_suffix = true;
      number = value;
      root = root.substr(0, dot);
    }
  }
  const int64_t taken = roots_[std::string(root)].Take(number);
  std::string result(root);
  if (taken != 0) {
    result += '.';
    result += std::to_string(taken);
  } else if (has_suffix) {
    result += ".0";
  }
  return result;
}

}  // namespace hlo
