// Types for the bits of others.
#pragma once

#include <optional>

#include "lib/types/element_type.h"

namespace hlo {

// The unsigned integers of so many bits, if there are any.
constexpr std::optional<ElementType> UnsignedOfWidth(int bits) {
  switch (bits) {
    case 1: return ElementType::kU1;
    case 2: return ElementType::kU2;
    case 4: return ElementType::kU4;
    case 8: return ElementType::kU8;
    case 16: return ElementType::kU16;
    case 32: return ElementType::kU32;
    case 64: return ElementType::kU64;
    default: return std::nullopt;
  }
}

}  // namespace hlo
