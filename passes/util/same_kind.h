// Kinds of numbers: which types a value can change to without becoming something else.
#pragma once

#include "lib/ir/instruction.h"
#include "lib/types/element_type.h"

namespace hlo {

// Both floats, both signed or both unsigned integers; or equal.
constexpr bool AreSameKind(ElementType a, ElementType b) {
  return a == b || (IsFloat(a) && IsFloat(b)) || (IsSigned(a) && IsSigned(b)) ||
         (IsUnsigned(a) && IsUnsigned(b));
}

// Whether values of `from` can be computed in `to`: the same kind, not fewer bits.
constexpr bool CanUpcast(ElementType from, ElementType to) {
  return from == to || (AreSameKind(from, to) && BitWidth(to) > BitWidth(from));
}

// Both floats or both integers.
inline bool StaysFloatOrInteger(const Instruction& convert) {
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  return (IsFloat(from) && IsFloat(to)) || (IsInteger(from) && IsInteger(to));
}

// Whether a conversion of a sum is the sum of conversions, but for rounding: a sum of narrow
// integers may have wrapped around, that of wide ones has not.
inline bool KeepsSums(const Instruction& convert) {
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  return StaysFloatOrInteger(convert) && (IsFloat(to) || BitWidth(to) <= BitWidth(from));
}

}  // namespace hlo
