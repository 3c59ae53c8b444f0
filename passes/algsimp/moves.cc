#include "passes/algsimp/moves.h"

#include "lib/support/contains.h"
#include "lib/support/round.h"

namespace hlo::algsimp {

Instruction* SliceLike(Rewriter& rewriter, Instruction* x, const SliceRanges& ranges) {
  DimVec sizes;
  for (const SliceRange& range : ranges)
    sizes.push_back(CeilDiv(range.limit - range.start, range.stride));
  return rewriter.OpWithShape(Opcode::kSlice, x->shape().WithSizes(sizes), {x},
                              AttrsPtr::Make(SliceAttrs{ranges}));
}

Instruction* DynamicSliceLike(Rewriter& rewriter, Instruction* x,
                              absl::Span<Instruction* const> starts,
                              absl::Span<const int64_t> sizes) {
  std::vector<Instruction*> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return rewriter.OpWithShape(
      Opcode::kDynamicSlice, x->shape().WithSizes(sizes), operands,
      AttrsPtr::Make(DynamicSliceAttrs{DimVec(sizes.begin(), sizes.end())}));
}

Instruction* PadLike(Rewriter& rewriter, Instruction* x, Instruction* value, PaddingConfig padding,
                     const Instruction* like) {
  DimVec sizes;
  for (int i = 0; i < padding.rank(); ++i)
    sizes.push_back(padding[i].PaddedSize(x->shape().dim(i)));
  const Shape shape = x->shape().WithSizes(sizes).WithElementType(like->shape().element_type());
  return rewriter.OpWithShape(Opcode::kPad, shape, {x, value},
                              AttrsPtr::Make(PadAttrs{std::move(padding)}));
}

bool LiesAlike(Shape x, Shape result, const DimVec& dims) {
  if (!x.has_layout() || !result.has_layout()) return false;
  size_t next = 0;
  for (int64_t dim : result.layout().minor_to_major) {
    if (!Contains(dims, dim)) continue;
    if (dims[static_cast<size_t>(x.layout().minor_to_major[next++])] != dim) return false;
  }
  return true;
}

Instruction* MoveOfRng(Instruction* move, Rewriter&) {
  Instruction* rng = move->operand(0);
  if (rng->opcode() != Opcode::kRng || rng->use_count() != 1 || rng->is_root() ||
      move->has_control_edges() || move->shape().has_dynamic_dims())
    return nullptr;
  // How its old dimensions were divided says nothing of the new ones.
  if (move->sharding() != nullptr) {
    rng->set_sharding(*move->sharding());
  } else if (rng->sharding() != nullptr) {
    rng->clear_sharding();
  }
  rng->set_shape(move->shape());
  return rng;
}

}  // namespace hlo::algsimp
