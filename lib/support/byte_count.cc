#include "lib/support/byte_count.h"

#include <fmt/core.h>

#include <string_view>

namespace hlo {

std::string ByteCountText(int64_t count) {
  if (count < 1024) return fmt::format("{}B", count);
  constexpr std::string_view kUnits = "KMGTPE";
  double size = static_cast<double>(count) / 1024;
  size_t unit = 0;
  for (; size >= 1024; size /= 1024) ++unit;
  return fmt::format("{:.{}f}{}iB", size, unit == 0 ? 1 : 2, kUnits[unit]);
}

}  // namespace hlo
