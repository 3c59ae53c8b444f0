#include "passes/collectives/reorder_convert_reduce_add.h"

#include "lib/analysis/region.h"
#include "passes/rewrite.h"
#include "passes/util/same_kind.h"

namespace hlo {
namespace {

bool IsWideningOfOneKind(const Instruction& convert) {
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  return from != to && CanUpcast(from, to);
}

bool IsSummedBetweenDevices(const Instruction& reduce, bool with_scatter) {
  return (reduce.opcode() == Opcode::kAllReduce ||
          (with_scatter && reduce.opcode() == Opcode::kReduceScatter)) &&
         reduce.shape().IsArray() && reduce.use_count() == 1 && !reduce.has_control_edges() &&
         CombinerOpcode(*reduce.to_apply()) == Opcode::kAdd;
}

}  // namespace

absl::StatusOr<bool> ReorderConvertReduceAdd::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConvert})) {
    for (Instruction* convert : computation->PostOrder()) {
      if (convert->opcode() != Opcode::kConvert || convert->use_count() != 1 ||
          convert->is_root() || convert->has_control_edges() ||
          !IsSummedBetweenDevices(*convert->operand(0), options_.enable_reduce_scatter))
        continue;
      if (convert->uses()[0].user->opcode() != Opcode::kAdd || !IsWideningOfOneKind(*convert)) {
        context.Missed(*convert, "no sum in a wider type reads it");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*convert, "done before devices reduce");
      Instruction* const reduce = convert->operand(0);
      const ElementType type = convert->shape().element_type();
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context);
      rewriter.set_origin(reduce);
      Instruction* wide = rewriter.OpWithShape(
          reduce->opcode(), convert->shape(), {rewriter.Convert(reduce->operand(0), type)},
          reduce->attrs_ptr(), {ScalarComputation(module, Opcode::kAdd, type)});
      RETURN_IF_ERROR(rewriter.status());
      ReplaceKeepingExtras(convert, wide, first_new);
      computation->RemoveUnused(reduce);
      context.Count("reordered");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ReorderConvertReduceAdd)

}  // namespace hlo
