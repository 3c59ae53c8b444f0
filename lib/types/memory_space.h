// lib/types/memory_space.h
//
// The memory that arrays are in: S(n) of a layout, numbered as in XLA.
#pragma once

#include <cstdint>

#include "lib/types/shape.h"

namespace hlo {

inline constexpr int64_t kDeviceMemorySpace = 0;
inline constexpr int64_t kFastMemorySpace = 1;
inline constexpr int64_t kHostMemorySpace = 5;

// The device's where there is no layout.
inline int64_t MemorySpaceOf(Shape array) {
  const Layout* const layout = array.layout_or_null();
  return layout == nullptr ? kDeviceMemorySpace : layout->memory_space;
}

}  // namespace hlo
