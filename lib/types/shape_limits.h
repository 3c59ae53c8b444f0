// How large a shape is as a tree. Tuples share their elements, so a few lines of text can make a
// shape whose tree, and whose text, has no end; who builds shapes from shapes asks here first.
#pragma once

#include "lib/types/shape.h"

namespace hlo {

// Levels of tuples and buffers; 0 for an array. O(1).
int NestingDepth(Shape shape);
// Whether a buffer stands in it at any depth. O(1).
bool HasBuffer(Shape shape);

}  // namespace hlo
