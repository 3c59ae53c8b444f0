// Joins parts of which all but one hold nothing in each place.
#pragma once

#include "lib/analysis/region.h"

namespace hlo {

// The operation that joins them; IdentityOf it, which every type has, holds nothing. A sum, but of
// scales, which have no zero.
inline Opcode UnionOpcode(ElementType type) {
  if (IsPred(type)) return Opcode::kOr;
  return IdentityOf(Opcode::kAdd, type).has_value() ? Opcode::kAdd : Opcode::kMaximum;
}
inline Literal NothingOf(ElementType type) { return *IdentityOf(UnionOpcode(type), type); }

}  // namespace hlo
