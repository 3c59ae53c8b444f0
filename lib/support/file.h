// Whole-file input and output. Output is written to a temporary file beside the target and renamed,
// so a reader never sees half of it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

// The bytes of a file, or of standard input for "-". Compressed data is unpacked
// (unpack.h).
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Writes a file whole or not at all; "-" is standard output.
absl::Status WriteFile(const std::string& path, std::string_view contents);

}  // namespace hlo
