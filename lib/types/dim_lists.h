// Lists of dimensions.
#pragma once

#include <initializer_list>

#include "absl/types/span.h"
#include "lib/types/layout.h"

namespace hlo {

// One list after the other.
inline DimVec Joined(std::initializer_list<absl::Span<const int64_t>> lists) {
  DimVec all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace hlo
