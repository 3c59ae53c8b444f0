// Frontend attributes by which a program tells passes what to do.
#pragma once

#include <algorithm>
#include <string_view>

#include "lib/ir/instruction.h"

namespace hlo {

// The value of a frontend attribute without quotes; empty when there is none.
inline std::string_view FrontendAttribute(const Instruction& instruction, std::string_view key) {
  if (instruction.extras() == nullptr) return "";
  const auto it = instruction.extras()->frontend_attributes.find(key);
  if (it == instruction.extras()->frontend_attributes.end()) return "";
  std::string_view value = it->second;
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  return value;
}

// Whether a frontend attribute says yes.
inline bool HasTrueAttribute(const Instruction& instruction, std::string_view key) {
  const std::string_view value = FrontendAttribute(instruction, key);
  const auto is = [value](std::string_view word) {
    return std::equal(value.begin(), value.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a | ' ') == b; });
  };
  return value == "1" || is("true") || is("yes");
}

}  // namespace hlo
