// The 8-bit floats that NVIDIA's libraries multiply and convolve.
#pragma once

#include "lib/types/element_type.h"

namespace hlo {

constexpr bool IsLibraryF8(ElementType type) {
  return type == ElementType::kF8E4M3FN || type == ElementType::kF8E5M2;
}

// The largest finite number of one of them.
constexpr double LargestF8(ElementType type) {
  return type == ElementType::kF8E4M3FN ? 448 : 57344;
}

}  // namespace hlo
