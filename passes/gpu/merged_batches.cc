#include "passes/gpu/merged_batches.h"

namespace hlo {
namespace {

int64_t PlaceOf(const DimVec& order, int64_t dim) {
  return absl::c_find(order, dim) - order.begin();
}

// `dims` with the one after `place` taken into it.
DimVec Joined(absl::Span<const int64_t> dims, int64_t place) {
  DimVec joined(dims.begin(), dims.end());
  const auto next = joined.begin() + place + 1;
  joined[static_cast<size_t>(place)] *= *next;
  joined.erase(next);
  return joined;
}

Instruction* MergedSide(Instruction* x, DimVec& batch, DimVec& contracting, Rewriter& b) {
  const int64_t first = batch[0], second = batch[1];
  DimVec order;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (d != second) order.push_back(d);
    if (d == first) order.push_back(second);
  }
  if (second != first + 1) x = b.Transpose(x, order);
  const int64_t place = PlaceOf(order, first);
  const int64_t contracted = PlaceOf(order, contracting[0]);
  batch = {place};
  contracting[0] = contracted - (contracted > place ? 1 : 0);
  return b.Reshape(x, Joined(x->shape().dims(), place));
}

}  // namespace

MergedProduct WithMergedBatches(const Instruction& dot, Rewriter& b) {
  MergedProduct merged;
  DotAttrs& attrs = merged.attrs = dot.attrs<DotAttrs>();
  merged.lhs = MergedSide(dot.operand(0), attrs.lhs_batch_dims, attrs.lhs_contracting_dims, b);
  merged.rhs = MergedSide(dot.operand(1), attrs.rhs_batch_dims, attrs.rhs_contracting_dims, b);
  merged.shape = Shape::Array(dot.shape().element_type(), Joined(dot.shape().dims(), 0));
  return merged;
}

}  // namespace hlo
