#include "passes/util/declared_sizes.h"

#include <algorithm>
#include <vector>

namespace hlo {

bool LacksSizes(Shape from, Shape to) {
  if (from == to) return false;
  if (from.IsTuple() && to.IsTuple()) {
    const int count = std::min(from.element_count_of_tuple(), to.element_count_of_tuple());
    for (int i = 0; i < count; ++i) {
      if (LacksSizes(from.element(i), to.element(i))) return true;
    }
    return false;
  }
  return SameDimensions(from, to) && !from.has_dynamic_dims() && to.has_dynamic_dims();
}

Instruction* WithDeclaredSizes(Instruction* value, Shape to) {
  const Shape from = value->shape();
  if (!LacksSizes(from, to)) return value;
  Builder b(value->parent());
  b.set_origin(value);
  if (from.IsTuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < from.element_count_of_tuple(); ++i)
      elements.push_back(WithDeclaredSizes(b.GetTupleElement(value, i), to.element(i)));
    return b.Tuple(elements);
  }
  for (int d = 0; d < to.rank(); ++d) {
    if (!to.is_dynamic(d)) continue;
    Instruction* const size = b.Constant(Literal::Scalar<int64_t>(ElementType::kS32, from.dim(d)));
    DimensionAttrs attrs;
    attrs.dimensions.value = d;
    value = b.OpWithShape(Opcode::kSetDimensionSize, value->shape().WithDynamic(d, true),
                          {value, size}, AttrsPtr::Make(attrs));
  }
  return value;
}

}  // namespace hlo
