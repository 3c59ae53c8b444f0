#include "passes/simplify/gemv_rewriter.h"

#include "lib/types/memory_order.h"

namespace hlo {
namespace {

// The number of dimensions of operand `i` that the result keeps for itself.
int KeptDimensions(const Instruction& dot, int i) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const size_t used = i == 0 ? attrs.lhs_batch_dims.size() + attrs.lhs_contracting_dims.size()
                             : attrs.rhs_batch_dims.size() + attrs.rhs_contracting_dims.size();
  return dot.operand(i)->shape().rank() - static_cast<int>(used);
}

bool HasPlainLayout(Shape shape) {
  return LiesRowMajor(shape) && !(shape.has_layout() && shape.layout().HasProperties());
}

Shape WithMinorOne(Shape shape) {
  std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  sizes.push_back(1);
  return Shape::Array(shape.element_type(), sizes);
}

}  // namespace

bool GemvRewriter::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2 || instruction.shape().has_dynamic_dims()) return false;
  const bool lhs_is_vector = KeptDimensions(instruction, 0) == 0;
  const bool rhs_is_vector = KeptDimensions(instruction, 1) == 0;
  if (lhs_is_vector == rhs_is_vector) return false;
  const Shape vector = instruction.operand(lhs_is_vector ? 0 : 1)->shape();
  return HasPlainLayout(vector) && HasPlainLayout(instruction.shape()) &&
         !vector.has_dynamic_dims();
}

absl::StatusOr<Instruction*> GemvRewriter::Expand(Instruction* dot, Rewriter& rewriter) {
  const auto view = [&](Instruction* x, Shape shape) {
    return options_.is_layout_sensitive ? rewriter.Bitcast(x, shape)
                                        : rewriter.Reshape(x, shape.dims());
  };
  const int vector = KeptDimensions(*dot, 0) == 0 ? 0 : 1;
  std::vector<Instruction*> operands = dot->operand_vector();
  Instruction*& x = operands[static_cast<size_t>(vector)];
  x = view(x, WithMinorOne(x->shape()));
  // A new dimension of the left operand stands before those of the right one.
  std::vector<int64_t> sizes(dot->shape().dims().begin(), dot->shape().dims().end());
  const auto batch = static_cast<int64_t>(dot->attrs<DotAttrs>().lhs_batch_dims.size());
  sizes.insert(vector == 0 ? sizes.begin() + batch : sizes.end(), 1);
  Instruction* product = rewriter.OpWithShape(
      Opcode::kDot, Shape::Array(dot->shape().element_type(), sizes), operands, dot->attrs_ptr());
  return view(product, dot->shape());
}

HLO_DEFINE_PASS(GemvRewriter)

}  // namespace hlo
