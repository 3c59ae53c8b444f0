// Modules of texts, for tests.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string_view>

#include "parser/parser.h"

namespace hlo {

// The module of a text, which is to parse; nothing more is verified.
inline std::unique_ptr<Module> ParsedModule(std::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  INFO(text);
  INFO(module.status());
  REQUIRE(module.ok());
  return *std::move(module);
}

}  // namespace hlo
