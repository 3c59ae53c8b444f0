// Options that take one of a few words, as the types of their fields; the first word is the
// default one:
//
//   struct Options { OneOf<"forward", "backward"> direction; … };         pass{direction=up}
//     =>   error: option `direction` expects `forward` or `backward`, found `up`
//
// or a text that a table knows, which a function looks up:
//
//   struct Options { Checked<KnownDevice> device{"h100"}; … };            pass{device=h10}
//     =>   error: option `device`: there are no figures of a GPU `h10`; …
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace hlo {

template <size_t kSize>
struct OptionWord {
  consteval OptionWord(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
  char text[kSize] = {};
};

// The error where `text` is none of `words`, of which "" is what a pass takes by itself.
absl::Status NoneOf(std::span<const std::string_view> words, const OptionText& text);

template <OptionWord... kWords>
struct OneOf {
  static constexpr std::array<std::string_view, sizeof...(kWords)> kAll = {kWords.view()...};
  std::string_view value = kAll[0];
  constexpr operator std::string_view() const { return value; }
  friend constexpr bool operator==(OneOf word, std::string_view other) {
    return word.value == other;
  }
};

template <OptionWord... kWords>
absl::Status ParseOption(const OptionText& text, OneOf<kWords...>& out) {
  constexpr auto& kAll = OneOf<kWords...>::kAll;
  const auto* const word = absl::c_find(kAll, text.value);
  if (word == kAll.end()) return NoneOf(kAll, text);
  out.value = *word;
  return absl::OkStatus();
}
template <OptionWord... kWords>
std::string OptionValue(OneOf<kWords...> word) {
  return std::string(word.value);
}
template <OptionWord... kWords>
std::string OptionType(OneOf<kWords...>) {
  return "string";
}

template <absl::Status (*kCheck)(const std::string&)>
struct Checked {
  std::string value;
  operator const std::string&() const { return value; }
};

absl::Status CheckedText(const OptionText& text, const absl::Status& status);

template <absl::Status (*kCheck)(const std::string&)>
absl::Status ParseOption(const OptionText& text, Checked<kCheck>& out) {
  out.value = text.value;
  return CheckedText(text, kCheck(text.value));
}
template <absl::Status (*kCheck)(const std::string&)>
std::string OptionValue(const Checked<kCheck>& text) {
  return text.value;
}
template <absl::Status (*kCheck)(const std::string&)>
std::string OptionType(const Checked<kCheck>&) {
  return "string";
}

}  // namespace hlo
