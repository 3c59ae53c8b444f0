// Builders of instructions that move data and are laid out as wanted: rules that hold for fixed
// layouts build with these.
#pragma once

#include "passes/rewrite.h"

namespace hlo::algsimp {

inline const DimVec& BroadcastDims(const Instruction* broadcast) {
  return broadcast->attrs<BroadcastAttrs>().dimensions;
}
// dimensions[i] is the dimension of the operand that dimension i of the result is.
inline const DimVec& TransposeOrder(const Instruction* transpose) {
  return transpose->attrs<TransposeAttrs>().dimensions;
}
inline bool IsAscending(const DimVec& dims) { return absl::c_is_sorted(dims); }

inline Instruction* BroadcastTo(Rewriter& rewriter, Instruction* x, Shape shape, DimVec dims) {
  return rewriter.OpWithShape(Opcode::kBroadcast, shape, {x},
                              AttrsPtr::Make(BroadcastAttrs{std::move(dims)}));
}
inline Instruction* ReshapeTo(Rewriter& rewriter, Instruction* x, Shape shape) {
  return rewriter.OpWithShape(Opcode::kReshape, shape, {x}, AttrsPtr::Make(ReshapeAttrs{}));
}
inline Instruction* TransposeTo(Rewriter& rewriter, Instruction* x, Shape shape, DimVec order) {
  return rewriter.OpWithShape(Opcode::kTranspose, shape, {x},
                              AttrsPtr::Make(TransposeAttrs{std::move(order)}));
}

// A slice of `x`, laid out as `x` is.
Instruction* SliceLike(Rewriter& rewriter, Instruction* x, const SliceRanges& ranges);
Instruction* DynamicSliceLike(Rewriter& rewriter, Instruction* x,
                              absl::Span<Instruction* const> starts,
                              absl::Span<const int64_t> sizes);
// `x` padded, laid out as `x` is, of the element type of `like`.
Instruction* PadLike(Rewriter& rewriter, Instruction* x, Instruction* value, PaddingConfig padding,
                     const Instruction* like);

// reshape(rng), transpose(rng)  =>  rng: the instruction itself takes the new shape, it draws the
// same numbers. A rule.
Instruction* MoveOfRng(Instruction* move, Rewriter&);

// Whether dimensions `dims` of `result`, which are those of `x`, lie there as they lie in x.
bool LiesAlike(Shape x, Shape result, const DimVec& dims);
// An array of fixed size with a layout.
inline bool IsLaidOut(const Instruction* x) {
  return x->shape().IsArray() && x->shape().has_layout() && !x->shape().has_dynamic_dims();
}
// Every byte at its place: such an array without tiles.
inline bool IsDense(const Instruction* x) {
  return IsLaidOut(x) && x->shape().layout().tiles.empty() &&
         x->shape().layout().split_configs.empty();
}

}  // namespace hlo::algsimp
