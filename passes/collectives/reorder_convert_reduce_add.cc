#include "passes/collectives/reorder_convert_reduce_add.h"

#include "lib/analysis/region.h"
#include "passes/collectives/carried_sums.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// The sum of an element of a loop's state and of what devices reduce, converted.
struct CarriedSum {
  Instruction *convert = nullptr, *element = nullptr;
};

CarriedSum SumOf(const Instruction& add, bool with_scatter) {
  CarriedSum sum;
  for (Instruction* operand : add.operands()) {
    if (!Compatible(operand->shape(), add.shape())) return {};  // it converts itself
    if (operand->opcode() == Opcode::kConvert) sum.convert = operand;
    if (IsElementOfState(*operand)) sum.element = operand;
  }
  if (sum.convert == nullptr || sum.element == nullptr) return {};
  const Opcode opcode = sum.convert->operand(0)->opcode();
  const bool is_reduced =
      opcode == Opcode::kAllReduce || (with_scatter && opcode == Opcode::kReduceScatter);
  return is_reduced ? sum : CarriedSum();
}

}  // namespace

absl::StatusOr<bool> ReorderConvertReduceAdd::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConvert})) {
    if (!IsBodyOfLoop(*computation)) continue;
    for (Instruction* add : computation->PostOrder()) {
      if (add->opcode() != Opcode::kAdd) continue;
      const auto [convert, element] = SumOf(*add, options_.enable_reduce_scatter);
      if (convert == nullptr) continue;
      Instruction* const reduce = convert->operand(0);
      if (!IsReadOnceInAnyOrder(*convert) || !IsReadOnceInAnyOrder(*reduce) ||
          !MayConvertBefore(*convert, *reduce)) {
        context.Missed(*convert,
                       "something else needs what it converts, or the sum would be another");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*convert, "done before devices reduce");
      const ElementType type = convert->shape().element_type();
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context, convert);
      Instruction* const converted = rewriter.Convert(reduce->operand(0), type);
      rewriter.set_origin(reduce);
      Instruction* const reduced = rewriter.OpWithShape(
          reduce->opcode(), convert->shape(), {converted}, reduce->attrs_ptr(),
          {ScalarComputation(module, *CombinerOpcode(*reduce->to_apply()), type)});
      rewriter.set_origin(add);
      Instruction* const sum = rewriter.Add(reduced, element);
      RETURN_IF_ERROR(rewriter.status());
      ReplaceKeepingExtras(add, sum, first_new);
      computation->RemoveUnused(convert);
      computation->RemoveUnused(reduce);
      context.Count("reordered");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ReorderConvertReduceAdd)

}  // namespace hlo
