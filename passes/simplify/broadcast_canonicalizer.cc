#include "passes/simplify/broadcast_canonicalizer.h"

#include <algorithm>

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
  DimVec order;
  for (const int64_t dim : sorted)
    order.push_back(std::find(dims.begin(), dims.end(), dim) - dims.begin());
  Instruction* x = broadcast->operand(0);
  Instruction* transposed = rewriter.Transpose(x, order);
  if (x->shape().has_layout())
    transposed->set_shape(transposed->shape().WithLayout(x->shape().layout()));
  return rewriter.OpWithShape(Opcode::kBroadcast, broadcast->shape(), {transposed},
                              AttrsPtr::Make(BroadcastAttrs{sorted}));
}

HLO_DEFINE_PASS(BroadcastCanonicalizer)

}  // namespace hlo
