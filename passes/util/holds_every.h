// Which types hold all values of others.
#pragma once

#include "lib/types/element_type.h"

namespace hlo {

struct FloatDigits {
  ElementType type;
  int digits;
};
inline constexpr FloatDigits kFloatDigits[] = {{ElementType::kBF16, 8},
                                               {ElementType::kF16, 11},
                                               {ElementType::kF32, 24},
                                               {ElementType::kF64, 53}};

// How many binary digits a type holds exactly; 0 where this file does not know it.
inline int ExactDigits(ElementType type) {
  if (IsInteger(type)) return BitWidth(type) - (IsSigned(type) ? 1 : 0);
  for (const FloatDigits& row : kFloatDigits) {
    if (row.type == type) return row.digits;
  }
  return 0;
}

// Whether every value of `from` is one of `to`.
inline bool HoldsEvery(ElementType to, ElementType from) {
  if (to == from) return true;
  if (ExactDigits(to) == 0 || ExactDigits(from) == 0 || ExactDigits(from) > ExactDigits(to))
    return false;
  if (IsFloat(from)) return IsFloat(to) && BitWidth(from) < BitWidth(to);
  return IsFloat(to) || IsSigned(to) || IsUnsigned(from);
}

}  // namespace hlo
