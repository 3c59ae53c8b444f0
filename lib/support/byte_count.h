// Counts of bytes for readers.
#pragma once

#include <cstdint>
#include <string>

namespace hlo {

// `12B`, `1.5KiB`, `2.00MiB`, … as XLA writes them; `count` is not negative.
std::string ByteCountText(int64_t count);

}  // namespace hlo
