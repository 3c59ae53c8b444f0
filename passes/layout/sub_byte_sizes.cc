#include "passes/layout/sub_byte_sizes.h"

#include "lib/ir/any_instruction.h"
#include "passes/layout/literal_layout.h"

namespace hlo {
namespace {

Shape WithElementSize(Shape shape, int64_t (*bits)(ElementType type)) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
      const Shape element = WithElementSize(shape.element(i), bits);
      if (!(element == shape.element(i))) shape = shape.WithElement(i, element);
    }
    return shape;
  }
  const Layout* layout = shape.layout_or_null();
  if (layout == nullptr || layout->element_size_in_bits == bits(shape.element_type())) return shape;
  Layout sized = *layout;
  sized.element_size_in_bits = bits(shape.element_type());
  return shape.WithLayout(sized);
}

}  // namespace

bool SetElementSizes(Module& module, PassContext& context, int64_t (*bits)(ElementType type)) {
  if (!context.MayRewrite()) return false;
  bool changed = false;
  for (Instruction* instruction : AllInstructions(module)) {
    const Shape shape = WithElementSize(instruction->shape(), bits);
    if (shape == instruction->shape()) continue;
    instruction->set_shape(shape);
    if (instruction->IsConstant())
      instruction->SetAttrs(ConstantAttrs{LiteralWithLayouts(instruction->literal(), shape)});
    context.Count("shapes");
    changed = true;
  }
  EntryLayout& entry = module.config().entry_layout;
  for (Shape& parameter : entry.parameters) {
    const Shape shape = WithElementSize(parameter, bits);
    changed |= !(shape == parameter);
    parameter = shape;
  }
  const Shape result = WithElementSize(entry.result, bits);
  changed |= !(result == entry.result);
  entry.result = result;
  return changed;
}

}  // namespace hlo
