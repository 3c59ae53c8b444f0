#include "passes/simplify/broadcast_canonicalizer.h"

namespace hlo {

bool BroadcastCanonicalizer::Matches(const Instruction& instruction) const {
  if (instruction.shape().has_dynamic_dims()) return false;
  const DimVec& dims = instruction.attrs<BroadcastAttrs>().dimensions;
  return !absl::c_is_sorted(dims);
}

absl::StatusOr<Instruction*> BroadcastCanonicalizer::Expand(Instruction* broadcast,
                                                            Rewriter& rewriter) {
  const DimVec& dims = broadcast->attrs<BroadcastAttrs>().dimensions;
  const Instruction* x = broadcast->operand(0);
  DimVec sorted = dims;
  absl::c_sort(sorted);
  DimVec sizes(broadcast->shape().dims().begin(), broadcast->shape().dims().end());
  DimVec order;  // for each dimension of the result the one of the sorted broadcast
  for (int64_t i = 0; i < broadcast->shape().rank(); ++i) order.push_back(i);
  for (size_t i = 0; i < dims.size(); ++i) {
    sizes[static_cast<size_t>(sorted[i])] = x->shape().dim(static_cast<int>(i));
    order[static_cast<size_t>(dims[i])] = sorted[i];
  }
  return rewriter.OpWithShape(Opcode::kTranspose, broadcast->shape(),
                              {rewriter.Broadcast(broadcast->operand(0), sizes, sorted)},
                              AttrsPtr::Make(TransposeAttrs{order}));
}

HLO_DEFINE_PASS(BroadcastCanonicalizer)

}  // namespace hlo
