// Whole-file input and output. Output is written to a temporary file beside the target and renamed,
// so a reader never sees half of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

// The longest file that is read: places in texts have 32 bits.
inline constexpr int64_t kMostBytesRead = (int64_t{1} << 32) - 1;

// The bytes of a file, or of standard input for "-". Compressed data is unpacked
// (unpack.h). More than `limit` bytes, which /dev/zero has, are an error.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit = kMostBytesRead);
// Whether WriteFile could write there: the error that it would give.
absl::Status CheckWritable(const std::string& path);
// Makes the folder where there is none.
absl::Status MakeFolder(const std::string& path);
// Writes a file whole or not at all; "-" is standard output.
absl::Status WriteFile(const std::string& path, std::string_view contents);

}  // namespace hlo
