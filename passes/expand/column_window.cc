#include "passes/expand/column_window.h"

namespace hlo {
namespace {

std::vector<Shape> LeavesOf(Shape shape) {
  if (!shape.IsTuple()) return {shape};
  return {shape.elements().begin(), shape.elements().end()};
}

}  // namespace

Instruction* ReshapeTo(Instruction* x, Shape shape, Rewriter& rewriter) {
  return rewriter.OpWithShape(Opcode::kReshape, shape, {x});
}

Shape CutLast(Shape shape, int64_t length) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.back() /= length;
  dims.push_back(length);
  const Shape cut = Shape::Array(shape.element_type(), dims);
  if (!shape.has_layout()) return cut.WithoutLayout();
  DimVec order = shape.layout().minor_to_major;
  order.push_back(shape.rank());
  return cut.WithLayout(Layout::FromMinorToMajor(order));
}

Arrays ReduceWindowOver(Arrays xs, const Arrays& inits, Window window, Computation* combiner,
                        Rewriter& rewriter) {
  const bool is_vector = xs[0]->shape().rank() == 1;
  // The elements lie as in the vector: the added dimension is the major one.
  if (is_vector) {
    for (Instruction*& x : xs) x = ReshapeTo(x, CutLast(x->shape(), 1), rewriter);
    window.dims.resize(2);
  }
  const Shape column = xs[0]->shape();
  const size_t count = xs.size();
  xs.insert(xs.end(), inits.begin(), inits.end());
  Instruction* reduced = rewriter.Op(
      Opcode::kReduceWindow, xs, AttrsPtr::Make(ReduceWindowAttrs{std::move(window)}), {combiner});
  const bool is_tuple = reduced->shape().IsTuple();
  const auto as_column = [&](Shape shape) {
    return column.has_layout() ? shape.WithLayout(column.layout()) : shape.WithoutLayout();
  };
  if (is_tuple) {
    std::vector<Shape> elements;
    for (const Shape element : reduced->shape().elements()) elements.push_back(as_column(element));
    reduced->set_shape(Shape::Tuple(elements));
  } else {
    reduced->set_shape(as_column(reduced->shape()));
  }
  Arrays results;
  for (size_t k = 0; k < count; ++k) {
    Instruction* result =
        is_tuple ? rewriter.GetTupleElement(reduced, static_cast<int64_t>(k)) : reduced;
    if (is_vector) result = rewriter.Reshape(result, {result->shape().dim(0)});
    results.push_back(result);
  }
  return results;
}

bool IsOfOneKind(const Instruction& reduce_window) {
  const int count = reduce_window.operand_count() / 2;
  const std::vector<Shape> results = LeavesOf(reduce_window.shape());
  const std::vector<Shape> combined = LeavesOf(reduce_window.to_apply()->root()->shape());
  for (int k = 0; k < count; ++k) {
    const Shape operand = reduce_window.operand(k)->shape();
    const ElementType type = operand.element_type();
    const auto at = static_cast<size_t>(k);
    if (results[at].element_type() != type || combined[at].element_type() != type ||
        results[at].has_dynamic_dims() || operand.has_dynamic_dims())
      return false;
  }
  return true;
}

}  // namespace hlo
