// lib/types/padding.cc
#include "lib/types/padding.h"

#include "lib/types/append.h"

namespace hlo {

std::string PaddingConfig::ToString() const {
  bool has_interior = false;
  for (const PaddingDim& dim : dims) has_interior = has_interior || dim.interior != 0;
  std::string out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += 'x';
    AppendInt(dims[i].low, out);
    out += '_';
    AppendInt(dims[i].high, out);
    if (!has_interior) continue;
    out += '_';
    AppendInt(dims[i].interior, out);
  }
  return out;
}

}  // namespace hlo
