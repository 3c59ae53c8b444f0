// The inputs that a search starts from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

// All texts below `paths` of at most `max_length` bytes, sorted, each once: files, cut at their
// `// -----` lines (not *.json, *.py), and of files named *.jsonl the strings
// `"input"` of each line.
absl::StatusOr<std::vector<std::string>> ReadSeeds(const std::vector<std::string>& paths,
                                                   size_t max_length);

// The string after `"input": ` in a line of JSON; "" when there is none.
std::string InputOfCase(std::string_view line);

}  // namespace hlo
