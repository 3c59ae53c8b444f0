#include "lib/support/line_table.h"

#include <algorithm>

namespace hlo {

LineTable::LineTable(const Source& source)
    : starts_({0}), size_(static_cast<uint32_t>(source.text().size())) {
  const std::string_view text = source.text();
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    starts_.push_back(static_cast<uint32_t>(at + 1));
}

LineColumn LineTable::Locate(uint32_t offset) const {
  const uint32_t end = std::min(offset, size_);
  const auto line = std::upper_bound(starts_.begin(), starts_.end(), end) - starts_.begin();
  const uint32_t start = starts_[static_cast<size_t>(line) - 1];
  return {static_cast<int>(line), static_cast<int>(end - start) + 1};
}

}  // namespace hlo
