// The leaves of nested tuples, counted in order.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/module.h"
#include "lib/types/shape_util.h"

namespace hlo {

// Of each leaf.
std::vector<Shape> LeafShapes(Shape shape);
// The number of the first leaf of element `element` of a tuple.
int64_t FirstLeaf(Shape tuple, int64_t element);
// The number of the leaf at `index`; -1 when there is none.
int64_t LeafNumber(Shape shape, const ShapeIndex& index);
// "x", or "t{0,1}" of a tuple.
std::string NameOfLeaf(const Instruction& instruction, int64_t leaf);

}  // namespace hlo
