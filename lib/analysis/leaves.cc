#include "lib/analysis/leaves.h"

namespace hlo {

std::vector<Shape> LeafShapes(Shape shape) {
  std::vector<Shape> leaves;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) { leaves.push_back(leaf); });
  return leaves;
}

int64_t FirstLeaf(Shape tuple, int64_t element) {
  int64_t leaf = 0;
  for (int64_t i = 0; i < element; ++i) leaf += LeafCount(tuple.element(static_cast<int>(i)));
  return leaf;
}

int64_t LeafNumber(Shape shape, const ShapeIndex& index) {
  int64_t number = 0, found = -1;
  ForEachLeaf(shape, [&](Shape, const ShapeIndex& at) {
    if (at == index) found = number;
    ++number;
  });
  return found;
}

std::string NameOfLeaf(const Instruction& instruction, int64_t leaf) {
  std::string name(instruction.name());
  if (!instruction.shape().IsTuple()) return name;
  int64_t number = 0;
  ForEachLeaf(instruction.shape(), [&](Shape, const ShapeIndex& index) {
    if (number++ == leaf) name += ToString(index);
  });
  return name;
}

}  // namespace hlo
