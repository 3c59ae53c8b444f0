#include "passes/collectives/reorder_reduce_transpose.h"

#include <algorithm>

#include "passes/collectives/unused_collectives.h"

namespace hlo {
namespace {

bool FeedsOneSum(const Instruction& value) {
  return value.use_count() == 1 && !value.is_root() && !value.has_control_edges() &&
         value.uses()[0].user->opcode() == Opcode::kAdd;
}

// transpose(reduce(x))  =>  reduce(transpose(x)), reduce being one between devices
Instruction* TransposeFirst(Instruction* transpose, Rewriter& rewriter) {
  Instruction* const reduce = transpose->operand(0);
  const bool is_scatter = reduce->opcode() == Opcode::kReduceScatter;
  if ((!is_scatter && reduce->opcode() != Opcode::kAllReduce) || !reduce->shape().IsArray() ||
      reduce->use_count() != 1 || reduce->has_control_edges())
    return nullptr;
  if (!FeedsOneSum(*transpose)) {
    rewriter.context().Missed(*transpose, "no sum alone reads it");
    return nullptr;
  }
  const DimVec order = transpose->attrs<TransposeAttrs>().dimensions;
  Instruction* moved = rewriter.Transpose(reduce->operand(0), order);
  rewriter.set_origin(reduce);
  AttrsPtr attrs = reduce->attrs_ptr();
  if (is_scatter) {
    ReduceScatterAttrs changed = reduce->attrs<ReduceScatterAttrs>();
    changed.dimensions.value =
        std::find(order.begin(), order.end(), changed.dimensions.value) - order.begin();
    attrs = AttrsPtr::Make(std::move(changed));
  }
  return rewriter.OpWithShape(reduce->opcode(), transpose->shape(), {moved}, attrs,
                              {reduce->to_apply()});
}

constexpr Rule kTransposeRules[] = {
    {"transpose-first", Opcode::kTranspose, kExact, TransposeFirst}};

}  // namespace

ReorderReduceTranspose::ReorderReduceTranspose() : RewritePass(this, kTransposeRules) {}

absl::StatusOr<bool> ReorderReduceTranspose::Run(Module& module, PassContext& context) {
  const UnusedCollectives unused(module);
  ASSIGN_OR_RETURN(const bool changed, RewritePass::Run(module, context));
  if (changed) unused.RemoveOthers(module);
  return changed;
}

HLO_DEFINE_PASS(ReorderReduceTranspose)

}  // namespace hlo
