// Shapes by the types of their elements.
#pragma once

#include "lib/types/shape_util.h"

namespace hlo {

// Whether some array of the shape has elements of the type.
inline bool HoldsType(Shape shape, ElementType type) {
  bool found = false;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) { found |= leaf.element_type() == type; });
  return found;
}

}  // namespace hlo
