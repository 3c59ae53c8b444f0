#include "passes/control_flow/branch_select.h"

#include "passes/control_flow/call_inliner.h"
#include "passes/rewrite.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

Instruction* SelectAll(Builder& builder, Instruction* pred, Instruction* on_true,
                       Instruction* on_false) {
  const Shape shape = on_true->shape();
  if (shape.IsToken()) return builder.Op(Opcode::kAfterAll, {on_true, on_false});
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
      elements.push_back(SelectAll(builder, pred, ReadElement(builder, on_true, i),
                                   ReadElement(builder, on_false, i)));
    }
    return builder.Tuple(elements);
  }
  if (shape.rank() > 0) pred = builder.Broadcast(pred, shape.dims(), {});
  return builder.Select(pred, on_true, on_false);
}

}  // namespace

absl::Status ReplaceBySelect(Instruction* conditional, Instruction* pred) {
  Computation& computation = *conditional->parent();
  const uint32_t first_new = computation.module().id_limit();
  const bool by_number = conditional->operand(0)->shape().element_type() != ElementType::kPred;
  const int true_branch = by_number ? 1 : 0;
  Builder builder(&computation, conditional);
  Instruction* on_true =
      builder.Call({conditional->operand(1 + true_branch)}, conditional->call(true_branch));
  Instruction* on_false =
      builder.Call({conditional->operand(2 - true_branch)}, conditional->call(1 - true_branch));
  Instruction* result = SelectAll(builder, pred, on_true, on_false);
  RETURN_IF_ERROR(builder.status());
  ReplaceKeepingExtras(conditional, result, first_new);
  InlineBody(on_true);
  InlineBody(on_false);
  return absl::OkStatus();
}

}  // namespace hlo
