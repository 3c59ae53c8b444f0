#include "passes/layout/sub_byte_size_removal.h"

#include "passes/layout/literal_layout.h"

namespace hlo {
namespace {

Shape WithoutElementSize(Shape shape) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
      const Shape element = WithoutElementSize(shape.element(i));
      if (!(element == shape.element(i))) shape = shape.WithElement(i, element);
    }
    return shape;
  }
  const Layout* layout = shape.layout_or_null();
  if (layout == nullptr || layout->element_size_in_bits == 0) return shape;
  Layout plain = *layout;
  plain.element_size_in_bits = 0;
  return shape.WithLayout(plain);
}

}  // namespace

absl::StatusOr<bool> SubByteSizeRemoval::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  bool changed = false;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      const Shape shape = WithoutElementSize(instruction->shape());
      if (shape == instruction->shape()) continue;
      instruction->set_shape(shape);
      if (instruction->IsConstant())
        instruction->SetAttrs(ConstantAttrs{LiteralWithLayouts(instruction->literal(), shape)});
      context.Count("shapes");
      changed = true;
    }
  }
  EntryLayout& entry = module.config().entry_layout;
  for (Shape& parameter : entry.parameters) {
    const Shape shape = WithoutElementSize(parameter);
    changed |= !(shape == parameter);
    parameter = shape;
  }
  const Shape result = WithoutElementSize(entry.result);
  changed |= !(result == entry.result);
  entry.result = result;
  return changed;
}

HLO_DEFINE_PASS(SubByteSizeRemoval)

}  // namespace hlo
