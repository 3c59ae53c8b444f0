#include "passes/expand/bitcast_expander.h"

#include <algorithm>

#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// Dimensions from the major to the minor one.
DimVec MajorToMinor(Shape shape) {
  const DimVec& minor_to_major = shape.layout().minor_to_major;
  return DimVec(minor_to_major.rbegin(), minor_to_major.rend());
}

// The array as it lies in memory, row-major.
Shape InMemoryOrder(Shape shape) {
  const DimVec order = MajorToMinor(shape);
  Shape memory =
      Shape::Array(shape.element_type(), Permute(shape.dims(), order)).WithDefaultLayout();
  for (size_t d = 0; d < order.size(); ++d) {
    const bool dynamic = shape.is_dynamic(static_cast<int>(order[d]));
    if (dynamic) memory = memory.WithDynamic(static_cast<int>(d), true);
  }
  return memory;
}

Instruction* Transposed(Instruction* x, const DimVec& order, Shape shape, Rewriter& rewriter) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  return rewriter.OpWithShape(Opcode::kTranspose, shape, {x},
                              AttrsPtr::Make(TransposeAttrs{order}));
}

Instruction* MoveAsLayoutsSay(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* const x = bitcast->operand(0);
  const Shape from = x->shape().WithMissingLayoutsFilled();
  const Shape to = bitcast->shape().WithMissingLayoutsFilled();
  if (KeepsRowMajorOrder(from, to) || from.byte_size() != to.byte_size()) return nullptr;
  Instruction* const memory = Transposed(x, MajorToMinor(from), InMemoryOrder(from), rewriter);
  const Shape target = InMemoryOrder(to);
  const bool is_reshape = from.element_type() == to.element_type() && !from.has_dynamic_dims() &&
                          !to.has_dynamic_dims();
  Instruction* const cut =
      is_reshape ? rewriter.Reshape(memory, target.dims()) : rewriter.Bitcast(memory, target);
  return Transposed(cut, InversePermutation(MajorToMinor(to)), to, rewriter);
}

constexpr Rule kRules[] = {
    {"move-as-layouts-say", Opcode::kBitcast, kExact, MoveAsLayoutsSay},
};

}  // namespace

BitcastExpander::BitcastExpander() : RewritePass(this, kRules) {}

HLO_DEFINE_PASS(BitcastExpander)

}  // namespace hlo
