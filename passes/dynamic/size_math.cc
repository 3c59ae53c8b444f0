#include "passes/dynamic/size_math.h"

namespace hlo {

Builder BuilderFor(const Instruction& like) {
  Builder builder(&like);
  return builder;
}

Instruction* SizeConstant(Builder& builder, int64_t size) {
  return builder.Constant(Literal::Scalar<int64_t>(ElementType::kS32, size));
}

Instruction* InsideMask(Builder& builder, absl::Span<const int64_t> dims, int64_t dim,
                        Instruction* size) {
  Instruction* index = builder.Iota(Shape::Array(ElementType::kS32, dims), dim);
  return builder.Compare(index, builder.Broadcast(size, dims, {}), ComparisonDirection::kLt);
}

Instruction* MaskedArray(Builder& builder, Instruction* array, int64_t dim, Instruction* size,
                         Instruction* filler) {
  const Shape shape = array->shape().WithoutDynamic();
  Instruction* mask = InsideMask(builder, shape.dims(), dim, size);
  Instruction* fill = builder.Broadcast(filler, shape.dims(), {});
  return builder.OpWithShape(Opcode::kSelect, shape, {mask, array, fill});
}

DynamicWindow ValidWindow(Builder& builder, Instruction* input_size, const WindowDim& window) {
  Instruction* stride = SizeConstant(builder, window.stride);
  Instruction* filter = SizeConstant(builder, window.DilatedWindow());
  Instruction* room = builder.Subtract(builder.Add(input_size, stride), filter);
  return {builder.Divide(room, stride), SizeConstant(builder, 0)};
}

DynamicWindow SameWindow(Builder& builder, Instruction* input_size, const WindowDim& window) {
  Instruction* stride = SizeConstant(builder, window.stride);
  Instruction* filter = SizeConstant(builder, window.DilatedWindow());
  Instruction* one = SizeConstant(builder, 1);
  Instruction* output =
      builder.Divide(builder.Subtract(builder.Add(input_size, stride), one), stride);
  Instruction* last = builder.Multiply(builder.Subtract(output, one), stride);
  Instruction* needed = builder.Subtract(builder.Add(last, filter), input_size);
  Instruction* padding = builder.Maximum(needed, SizeConstant(builder, 0));
  return {output, builder.Divide(padding, SizeConstant(builder, 2))};
}

namespace {

// What was said about a value holds for the first elements of the tuple that it has become.
void GrowExtras(Instruction* value, bool was_tuple, size_t extra) {
  if (value->extras() == nullptr) return;
  Extras& extras = value->mutable_extras();
  extras.origin.reset();
  if (!extras.sharding || (was_tuple && !extras.sharding->is_tuple)) return;
  std::vector<Sharding::Leaf> leaves(extras.sharding->leaves.begin(),
                                     extras.sharding->leaves.end());
  leaves.resize(leaves.size() + extra, Sharding::Replicated().leaves[0]);
  extras.sharding = Sharding::Tuple(std::move(leaves));
}

}  // namespace

Instruction* GrowTuple(Instruction* value, absl::Span<const Shape> extra) {
  const bool was_tuple = value->shape().IsTuple();
  const bool was_root = value->is_root();
  const std::vector<Use> uses(value->uses().begin(), value->uses().end());
  std::vector<Shape> shapes;
  if (was_tuple) {
    shapes.assign(value->shape().elements().begin(), value->shape().elements().end());
  } else {
    shapes.push_back(value->shape());
  }
  const size_t count = shapes.size();
  shapes.insert(shapes.end(), extra.begin(), extra.end());
  value->set_shape(Shape::Tuple(shapes));

  const auto reads_element = [&](const Use& use) {
    return was_tuple && use.user->opcode() == Opcode::kGetTupleElement;
  };
  if (!was_root && absl::c_all_of(uses, reads_element)) {
    GrowExtras(value, was_tuple, extra.size());
    return nullptr;
  }
  Builder builder = BuilderFor(*value);
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < count; ++i)
    elements.push_back(builder.GetTupleElement(value, static_cast<int64_t>(i)));
  Instruction* old_form = was_tuple ? builder.Tuple(elements) : elements[0];
  if (value->sharding() != nullptr) old_form->set_sharding(*value->sharding());
  GrowExtras(value, was_tuple, extra.size());
  for (const Use& use : uses) {
    if (!reads_element(use)) use.user->ReplaceOperand(use.operand_index, old_form);
  }
  if (was_root) value->parent()->set_root(old_form);
  return old_form;
}

}  // namespace hlo
