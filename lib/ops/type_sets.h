// Which element types an opcode takes, by the column `types` of ops.def.
#pragma once

#include "lib/ops/ops.h"

namespace hlo {

// The class of an array's element type.
constexpr TypeSet TypeSetOf(ElementType type) {
  if (IsPred(type)) return kPredTypes;
  if (IsSigned(type)) return kSignedTypes;
  if (IsUnsigned(type)) return kUnsignedTypes;
  return IsFloat(type) ? kFloatTypes : kComplexTypes;
}

// Whether the row names the type; a row that leaves it to the shape rule names all.
inline bool RowTakes(Opcode opcode, ElementType type) {
  const TypeSet types = Info(opcode).types;
  return types == kByRule || (TypeSetOf(type) & types) != 0;
}

}  // namespace hlo
