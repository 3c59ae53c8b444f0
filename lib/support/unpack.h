// Unpacking of compressed files, told by their first bytes: gzip (zlib) and Zstandard.
//
// Data that ends too early or is damaged is an error. So is data that unpacks to far more than its
// size (UnpackedLimit), before the memory for it is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

// What `size` packed bytes may unpack to: 200 times as much, in any case 256 MiB, never 4 GiB.
uint64_t UnpackedLimit(uint64_t size);

// `data` unpacked, or as it is when it is not compressed; `path` is for messages.
absl::StatusOr<std::string> Unpack(std::string data, std::string_view path);

}  // namespace hlo
