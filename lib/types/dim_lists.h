// Lists of dimensions.
#pragma once

#include <initializer_list>

#include "absl/types/span.h"
#include "lib/support/contains.h"
#include "lib/types/layout.h"

namespace hlo {

// One list after the other.
inline DimVec Joined(std::initializer_list<absl::Span<const int64_t>> lists) {
  DimVec all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The dimensions of an operand of a dot that the result keeps besides the batch, in their order.
inline DimVec FreeDims(int rank, absl::Span<const int64_t> batch,
                       absl::Span<const int64_t> contracting) {
  DimVec free;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Contains(batch, d) && !Contains(contracting, d)) free.push_back(d);
  }
  return free;
}

}  // namespace hlo
