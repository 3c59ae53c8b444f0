// Helpers of the parser's tests.
#pragma once

#include <string>
#include <string_view>

#include "lib/ir/printer.h"
#include "lib/support/diagnostic.h"
#include "parser/parser.h"

namespace hlo {

// The short print of the module, or the rendered errors.
inline std::string Reprint(std::string_view text,
                           const PrintOptions& print = PrintOptions::ShortParsable(),
                           const ParserOptions& options = {}) {
  const auto source = std::make_shared<const Source>("t", std::string(text));
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(source, options);
  return module.ok() ? ToText(**module, print) : Render(module.status(), source.get());
}

// The rendered errors of a text, or "accepted".
inline std::string ErrorsOf(std::string_view text, const ParserOptions& options = {}) {
  const auto source = std::make_shared<const Source>("t", std::string(text));
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(source, options);
  return module.ok() ? "accepted" : Render(module.status(), source.get());
}

// The body of an entry computation around `lines`.
inline std::string Entry(std::string_view lines) {
  return "HloModule m\nENTRY e {\n" + std::string(lines) + "\n}\n";
}

// The first message of a failed status.
template <class T>
std::string MessageOf(const absl::StatusOr<T>& result) {
  return result.ok() ? "accepted" : DiagnosticsOf(result.status()).front().message;
}

}  // namespace hlo
