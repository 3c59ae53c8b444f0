#include "passes/expand/dot_normalizer.h"

namespace hlo {
namespace {

// x with a last dimension of size 1, which is the most minor one: the same bytes.
Instruction* WithLastDimension(Instruction* x, Rewriter& rewriter) {
  const Shape shape = x->shape();
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  sizes.push_back(1);
  Layout layout = shape.has_layout() ? shape.layout() : Layout::RowMajor(shape.rank());
  layout.minor_to_major.insert(layout.minor_to_major.begin(), shape.rank());
  return rewriter.Bitcast(x, shape.WithDimensions(sizes).WithLayout(layout));
}

}  // namespace

bool DotNormalizer::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2) return false;
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().has_dynamic_dims()) return false;
  }
  return instruction.attrs<DotAttrs>().lhs_contracting_dims.empty();
}

absl::StatusOr<Instruction*> DotNormalizer::Expand(Instruction* dot, Rewriter& rewriter) {
  Instruction *lhs = dot->operand(0), *rhs = dot->operand(1);
  DotAttrs attrs = dot->attrs<DotAttrs>();
  attrs.lhs_contracting_dims = {lhs->shape().rank()};
  attrs.rhs_contracting_dims = {rhs->shape().rank()};
  Instruction* product =
      rewriter.Dot(WithLastDimension(lhs, rewriter), WithLastDimension(rhs, rewriter), attrs);
  product->set_shape(dot->shape());  // with its layout, and the element type that it accumulates in
  return product;
}

HLO_DEFINE_PASS(DotNormalizer)

}  // namespace hlo
