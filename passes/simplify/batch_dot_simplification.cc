#include "passes/simplify/batch_dot_simplification.h"

namespace hlo {
namespace {

bool LeadingBatchDims(const DotAttrs& attrs) {
  if (attrs.lhs_batch_dims != attrs.rhs_batch_dims) return false;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i) {
    if (attrs.lhs_batch_dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

DimVec WithoutLeadingOnes(Shape shape, int batch) {
  DimVec dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i >= batch || shape.dim(i) != 1) dims.push_back(shape.dim(i));
  }
  return dims;
}

}  // namespace

bool BatchDotSimplification::Matches(const Instruction& instruction) const {
  const auto& attrs = instruction.attrs<DotAttrs>();
  const Shape lhs = instruction.operand(0)->shape();
  if (lhs.has_dynamic_dims() || instruction.operand(1)->shape().has_dynamic_dims()) return false;
  if (attrs.lhs_contracting_dims.size() != 1 || !LeadingBatchDims(attrs)) return false;
  const int batch = static_cast<int>(attrs.lhs_batch_dims.size());
  return static_cast<int>(WithoutLeadingOnes(lhs, batch).size()) < lhs.rank();
}

absl::StatusOr<Instruction*> BatchDotSimplification::Expand(Instruction* dot, Rewriter& rewriter) {
  DotAttrs attrs = dot->attrs<DotAttrs>();
  const int batch = static_cast<int>(attrs.lhs_batch_dims.size());
  Instruction* lhs = dot->operand(0);
  Instruction* rhs = dot->operand(1);
  const DimVec lhs_dims = WithoutLeadingOnes(lhs->shape(), batch);
  const int64_t dropped = lhs->shape().rank() - static_cast<int64_t>(lhs_dims.size());
  attrs.lhs_batch_dims.resize(attrs.lhs_batch_dims.size() - static_cast<size_t>(dropped));
  attrs.rhs_batch_dims = attrs.lhs_batch_dims;
  attrs.lhs_contracting_dims[0] -= dropped;
  attrs.rhs_contracting_dims[0] -= dropped;
  Instruction* new_lhs = rewriter.Reshape(lhs, lhs_dims);
  Instruction* new_rhs = rewriter.Reshape(rhs, WithoutLeadingOnes(rhs->shape(), batch));
  const Shape shape = dot->shape().WithDimensions(WithoutLeadingOnes(dot->shape(), batch));
  Instruction* smaller = rewriter.OpWithShape(Opcode::kDot, shape, {new_lhs, new_rhs},
                                              AttrsPtr::Make(std::move(attrs)));
  if (!dot->backend_config().empty())
    smaller->mutable_extras().backend_config = std::string(dot->backend_config());
  return rewriter.Reshape(smaller, dot->shape().dims());
}

HLO_DEFINE_PASS(BatchDotSimplification)

}  // namespace hlo
