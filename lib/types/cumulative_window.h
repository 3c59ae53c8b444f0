// Windows of cumulative operations (sums, products, maxima along a dimension).
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "lib/types/window.h"

namespace hlo {

// A window in one dimension only, which reaches from one end of it to the element.
struct CumulativeWindow {
  size_t dimension = 0;
  bool from_end = false;  // the window of an element holds it and everything after it
};

// `dims`: of the operand. Missing window dimensions are trivial.
inline std::optional<CumulativeWindow> CumulativeWindowOf(const Window& window,
                                                          absl::Span<const int64_t> dims) {
  std::optional<CumulativeWindow> found;
  for (size_t d = 0; d < window.dims.size(); ++d) {
    if (window.dims[d] == WindowDim()) continue;
    WindowDim forward, backward;
    forward.size = backward.size = dims[d];
    forward.pad_low = backward.pad_high = dims[d] - 1;
    const bool from_end = window.dims[d] == backward;
    if (found.has_value() || !(from_end || window.dims[d] == forward)) return std::nullopt;
    found = CumulativeWindow{d, from_end};
  }
  return found;
}

}  // namespace hlo
