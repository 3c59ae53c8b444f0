// Lines and columns of many places in one text: the starts of its lines, looked for once and then
// searched. For a single place Source::Locate is enough.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/support/source.h"

namespace hlo {

class LineTable {
 public:
  explicit LineTable(const Source& source);
  // As Source::Locate.
  LineColumn Locate(uint32_t offset) const;

 private:
  std::vector<uint32_t> starts_;
  uint32_t size_;
};

}  // namespace hlo
