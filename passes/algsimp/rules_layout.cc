// Rules for fixed layouts: what moves no byte is a bitcast, and bitcasts melt together. Rooted at
// reshape, transpose, copy, bitcast, bitcast-convert and custom-call.
#include <algorithm>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// Every byte at its place, in one memory, without tiles.
bool IsOrdinary(const Instruction* x) {
  const Shape shape = x->shape();
  return shape.IsArray() && shape.has_layout() && !shape.has_dynamic_dims() &&
         shape.layout().tiles.empty();
}

const DimVec& TransposeDims(const Instruction* transpose) {
  return transpose->attrs<TransposeAttrs>().dimensions;
}

// copy(transpose(copy(x))), the inner values not read elsewhere
bool IsBetweenCopies(const Instruction* transpose) {
  return transpose->operand(0)->opcode() == Opcode::kCopy && transpose->has_one_user() &&
         !transpose->is_root() && transpose->operand(0)->has_one_user() &&
         transpose->uses()[0].user->opcode() == Opcode::kCopy;
}

// reshape(x) of the same shape  =>  x;  that moves no byte  =>  bitcast(x)
Instruction* ReshapeToBitcast(Instruction* reshape, Rewriter& rewriter) {
  Instruction* x = reshape->operand(0);
  if (x->shape() == reshape->shape()) return x;
  if (!IsOrdinary(x) || !IsOrdinary(reshape) || !ReshapeIsBitcast(x->shape(), reshape->shape()))
    return nullptr;
  return rewriter.Bitcast(x, reshape->shape());
}

// transpose(x) that moves no byte  =>  bitcast(x)
Instruction* TransposeToBitcast(Instruction* transpose, Rewriter& rewriter) {
  Instruction* x = transpose->operand(0);
  if (!IsOrdinary(x) || !IsOrdinary(transpose) || IsBetweenCopies(transpose) ||
      !TransposeIsBitcast(x->shape(), transpose->shape(), TransposeDims(transpose)))
    return nullptr;
  return rewriter.Bitcast(x, transpose->shape());
}

// copy(transpose(copy(x)))  =>  copy(transpose(x)), the transpose moving no byte
Instruction* CopyOfTransposedCopy(Instruction* copy, Rewriter& rewriter) {
  Instruction* transpose = copy->operand(0);
  if (transpose->opcode() != Opcode::kTranspose || !IsBetweenCopies(transpose)) return nullptr;
  Instruction* x = transpose->operand(0)->operand(0);
  if (!IsOrdinary(x) || !IsOrdinary(copy) || x->shape().has_dynamic_dims()) return nullptr;
  const DimVec places = InversePermutation(TransposeDims(transpose));
  Layout layout = x->shape().layout();
  for (auto& dim : layout.minor_to_major) dim = places[static_cast<size_t>(dim)];
  const Shape shape = transpose->shape().WithLayout(layout);
  if (!TransposeIsBitcast(x->shape(), shape, TransposeDims(transpose))) return nullptr;
  return rewriter.OpWithShape(
      Opcode::kCopy, copy->shape(),
      {rewriter.OpWithShape(Opcode::kTranspose, shape, {x}, transpose->attrs_ptr())});
}

// copy(reshape(x)) where the reshape moves no byte into the layout of the copy  =>  reshape(x)
Instruction* CopyOfReshape(Instruction* copy, Rewriter& rewriter) {
  Instruction* reshape = copy->operand(0);
  if (reshape->opcode() != Opcode::kReshape || !reshape->has_one_user() || !IsOrdinary(copy) ||
      !IsOrdinary(reshape->operand(0)) ||
      !ReshapeIsBitcast(reshape->operand(0)->shape(), copy->shape()))
    return nullptr;
  return rewriter.OpWithShape(Opcode::kReshape, copy->shape(), {reshape->operand(0)});
}

// bitcast(bitcast(x))  =>  bitcast(x);  bitcast(x) of the same shape  =>  x
Instruction* BitcastOfBitcast(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* x = bitcast->operand(0);
  if (!bitcast->control_predecessors().empty()) return nullptr;
  if (x->shape() == bitcast->shape()) return x;
  if (x->opcode() != Opcode::kBitcast) return nullptr;
  while (x->opcode() == Opcode::kBitcast && x->control_predecessors().empty()) x = x->operand(0);
  return x->shape() == bitcast->shape() ? x : rewriter.Bitcast(x, bitcast->shape());
}

// bitcast(f(bitcast(x)))  =>  bitcast(f(x)), for elementwise f
Instruction* BitcastOfUnary(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* f = bitcast->operand(0);
  if (f->operand_count() != 1 || !HasTrait(f->opcode(), kElementwise) || !f->has_one_user() ||
      f->operand(0)->opcode() != Opcode::kBitcast || f->has_control_edges() ||
      !bitcast->control_predecessors().empty() || !IsOrdinary(f))
    return nullptr;
  Instruction* x = f->operand(0)->operand(0);
  const auto type = [](const Instruction* value) { return value->shape().element_type(); };
  if (!IsOrdinary(x) || type(x) != type(f->operand(0)) || type(f) != type(bitcast)) return nullptr;
  Instruction* moved =
      rewriter.OpWithShape(f->opcode(), x->shape().WithElementType(type(f)), {x}, f->attrs_ptr());
  return rewriter.Bitcast(moved, bitcast->shape());
}

// LayoutConstraint(x)  =>  x, or a copy in the wanted layout
Instruction* LayoutConstraint(Instruction* call, Rewriter& rewriter) {
  if (call->attrs<CustomCallAttrs>().custom_call_target != "LayoutConstraint" ||
      call->operand_count() != 1 || !Compatible(call->operand(0)->shape(), call->shape()))
    return nullptr;
  Instruction* x = call->operand(0);
  if (x->shape() == call->shape()) return x;
  return call->shape().IsArray() ? rewriter.OpWithShape(Opcode::kCopy, call->shape(), {x})
                                 : nullptr;
}

constexpr Rule kLayoutRules[] = {
    {"reshape-to-bitcast", Opcode::kReshape, kExact, ReshapeToBitcast},
    {"transpose-to-bitcast", Opcode::kTranspose, kExact, TransposeToBitcast},
    {"copy-of-transposed-copy", Opcode::kCopy, kExact, CopyOfTransposedCopy},
    {"copy-of-reshape", Opcode::kCopy, kExact, CopyOfReshape},
    {"bitcast-of-unary", Opcode::kBitcast, kExact, BitcastOfUnary},
    {"layout-constraint", Opcode::kCustomCall, kExact, LayoutConstraint},
};
constexpr Rule kBitcastRules[] = {
    {"bitcast-of-bitcast", Opcode::kBitcast, kExact, BitcastOfBitcast},
};

}  // namespace

std::span<const Rule> LayoutRules() { return kLayoutRules; }
std::span<const Rule> BitcastRules() { return kBitcastRules; }

}  // namespace hlo::algsimp
