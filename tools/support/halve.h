// Bisection.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/support/status.h"

namespace hlo {

// The first n in (0, last] for which `asks(n)` is true, as it is for `last`; it is asked log2(last)
// times. `asks` returns a StatusOr<bool>, whose error ends the search.
template <class Question>
absl::StatusOr<int64_t> FirstByHalving(int64_t last, const Question& asks) {
  int64_t low = 0, high = last;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const bool yes, asks(middle));
    (yes ? high : low) = middle;
  }
  return high;
}

}  // namespace hlo
