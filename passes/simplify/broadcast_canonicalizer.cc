#include "passes/simplify/broadcast_canonicalizer.h"

#include <algorithm>
#include <numeric>

namespace hlo {

bool BroadcastCanonicalizer::Matches(const Instruction& instruction) const {
  if (instruction.shape().has_dynamic_dims()) return false;
  const DimVec& dims = instruction.attrs<BroadcastAttrs>().dimensions;
  return !std::is_sorted(dims.begin(), dims.end());
}

absl::StatusOr<Instruction*> BroadcastCanonicalizer::Expand(Instruction* broadcast,
                                                            Rewriter& rewriter) {
  const DimVec& dims = broadcast->attrs<BroadcastAttrs>().dimensions;
  DimVec sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  DimVec sizes(broadcast->shape().dims().begin(), broadcast->shape().dims().end());
  DimVec order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    sizes[static_cast<size_t>(sorted[i])] = broadcast->shape().dim(static_cast<int>(dims[i]));
    order[static_cast<size_t>(dims[i])] = sorted[i];
  }
  return rewriter.Transpose(rewriter.Broadcast(broadcast->operand(0), sizes, sorted), order);
}

HLO_DEFINE_PASS(BroadcastCanonicalizer)

}  // namespace hlo
