#include "passes/layout_copy.h"

#include "lib/support/check.h"

namespace hlo {

Instruction* CopyWithLayouts(Instruction* value, Shape shape) {
  HLO_DCHECK(Compatible(value->shape(), shape));
  if (value->shape().WithMissingLayoutsFilled() == shape.WithMissingLayoutsFilled()) return value;
  Builder b(value->parent());
  if (shape.IsArray()) {
    Instruction* copy = b.Copy(value);
    copy->set_shape(shape);
    return copy;
  }
  if (!shape.IsTuple()) return value;
  std::vector<Instruction*> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    elements.push_back(CopyWithLayouts(b.GetTupleElement(value, i), shape.element(i)));
  return b.Tuple(elements);
}

}  // namespace hlo
