// Numbers of options that make sense in a range only, as the types of their fields:
//
//   struct Options { IntIn<0, 4096> workspace; … };       pass{workspace=-4}
//     =>   error: option `workspace` expects an integer from 0 to 4096, found `-4`
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "lib/support/read_number.h"
#include "passes/pass.h"

namespace hlo {

template <int64_t kLeast, int64_t kMost = INT64_MAX>
struct IntIn {
  int64_t value = 0;
  constexpr operator int64_t() const { return value; }
};

template <int64_t kLeast, int64_t kMost>
absl::Status ParseOption(const OptionText& text, IntIn<kLeast, kMost>& out) {
  int64_t value = 0;
  if (!ReadNumberTo(text.value, value) || value < kLeast || value > kMost) {
    const std::string last = kMost == INT64_MAX ? " on" : fmt::format(" to {}", kMost);
    return Error(text.loc, "option `{}` expects an integer from {}{}, found `{}`", text.name,
                 kLeast, last, text.value);
  }
  out.value = value;
  return absl::OkStatus();
}
template <int64_t kLeast, int64_t kMost>
std::string OptionValue(IntIn<kLeast, kMost> number) {
  return std::to_string(number.value);
}
template <int64_t kLeast, int64_t kMost>
std::string OptionType(IntIn<kLeast, kMost>) {
  return "int";
}

}  // namespace hlo
