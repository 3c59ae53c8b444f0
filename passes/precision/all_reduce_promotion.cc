#include "passes/precision/all_reduce_promotion.h"

#include "lib/analysis/region.h"

namespace hlo {
bool AllReducePromotion::Matches(const Instruction& instruction) const {
  if (options_.promote_all_reduce_only && instruction.opcode() != Opcode::kAllReduce) return false;
  return instruction.shape().IsArray() && instruction.operand_count() == 1 &&
         options_.types.Of(instruction.shape().element_type()) &&
         CombinerOpcode(*instruction.to_apply());
}

absl::StatusOr<Instruction*> AllReducePromotion::Expand(Instruction* reduce, Rewriter& rewriter) {
  const ElementType narrow = reduce->shape().element_type();
  const ElementType wide = *options_.types.Of(narrow);
  Computation* combiner =
      rewriter.module().AddComputation(fmt::format("{}_promoted", reduce->to_apply()->name()));
  Builder b(combiner);
  Instruction* x = b.Parameter(0, Shape::Scalar(wide), "x");
  Instruction* y = b.Parameter(1, Shape::Scalar(wide), "y");
  combiner->set_root(b.Op(*CombinerOpcode(*reduce->to_apply()), {x, y}));
  RETURN_IF_ERROR(b.status());
  rewriter.module().MoveToFront(combiner, reduce->parent());
  Instruction* result = rewriter.OpWithShape(
      reduce->opcode(), reduce->shape().WithElementType(wide),
      {rewriter.Convert(reduce->operand(0), wide)}, reduce->attrs_ptr(), {combiner});
  PassOnWork(*reduce, result);
  return rewriter.Convert(result, narrow);
}

HLO_DEFINE_PASS(AllReducePromotion)

}  // namespace hlo
