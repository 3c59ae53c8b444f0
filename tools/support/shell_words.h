// Words of a command line, taken apart as a shell does it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

// Blanks separate words; '…', "…" and backslashes keep what they quote. Nothing is expanded: `$`,
// `*` and `~` are themselves. An error for a quote that is not closed.
absl::StatusOr<std::vector<std::string>> ShellWords(std::string_view line);

}  // namespace hlo
