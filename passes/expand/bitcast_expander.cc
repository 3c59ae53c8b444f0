#include "passes/expand/bitcast_expander.h"

#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// The array as it lies in memory, row-major.
Shape InMemory(Shape array) { return InMemoryOrder(array).WithDefaultLayout(); }

Instruction* Transposed(Instruction* x, const DimVec& order, Shape shape, Rewriter& rewriter) {
  if (absl::c_is_sorted(order)) return x;
  return rewriter.OpWithShape(Opcode::kTranspose, shape, {x},
                              AttrsPtr::Make(TransposeAttrs{order}));
}

Instruction* MoveAsLayoutsSay(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* const x = bitcast->operand(0);
  const Shape from = x->shape().WithMissingLayoutsFilled();
  const Shape to = bitcast->shape().WithMissingLayoutsFilled();
  if (KeepsRowMajorOrder(from, to) || from.byte_size() != to.byte_size()) return nullptr;
  Instruction* const memory = Transposed(x, MajorToMinor(from), InMemory(from), rewriter);
  const Shape target = InMemory(to);
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
