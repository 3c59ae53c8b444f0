// Numbers in text, without blanks or a plus sign around them; independent of the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace hlo {

// The number that `text` begins with, which is taken off it. None where it begins with no number,
// or one that T cannot hold: then `text` stays. Integers are read in `base`.
template <class T>
std::optional<T> TakeNumber(std::string_view& text, int base = 10) {
  T number{};
  const char* const end = text.data() + text.size();
  std::from_chars_result result;
  if constexpr (std::is_floating_point_v<T>) {
    result = std::from_chars(text.data(), end, number);
  } else {
    result = std::from_chars(text.data(), end, number, base);
  }
  if (result.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  return number;
}

// The number that `text` is as a whole.
template <class T>
std::optional<T> ReadNumber(std::string_view text, int base = 10) {
  const std::optional<T> number = TakeNumber<T>(text, base);
  return text.empty() ? number : std::nullopt;
}
// The same into `out`, which stays where there is none; whether there is one.
template <class T>
bool ReadNumberTo(std::string_view text, T& out) {
  const std::optional<T> number = ReadNumber<T>(text);
  if (number) out = *number;
  return number.has_value();
}

}  // namespace hlo
