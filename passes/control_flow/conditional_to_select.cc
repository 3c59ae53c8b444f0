#include "passes/control_flow/conditional_to_select.h"

#include "lib/analysis/call_graph.h"
#include "lib/support/contains.h"
#include "lib/support/decision.h"
#include "passes/control_flow/branch_select.h"

namespace hlo {
namespace {

Decision CanSelect(const Instruction& conditional) {
  const bool by_pred = conditional.operand(0)->shape().element_type() == ElementType::kPred;
  if (!by_pred && conditional.call_count() != 2)
    return No("it has {} branches", conditional.call_count());
  if (conditional.shape().IsTuple()) return No("its result is a tuple");
  if (conditional.HasSideEffect()) return No("a branch has side effects");
  if (conditional.has_control_edges()) return No("it has control edges");
  return Yes();
}

}  // namespace

absl::StatusOr<bool> ConditionalToSelect::Run(Module& module, PassContext& context) {
  auto& calls = context.analyses().Get<CallGraph>(module);
  std::vector<Computation*> per_element = context.Computations(module);
  std::erase_if(per_element, [&](const Computation* c) {
    return calls.ContextOf(*c) != CallContext::kEmbedded;
  });
  bool changed = false;
  for (Computation* computation : per_element) {
    for (Instruction* conditional : computation->PostOrder()) {
      if (conditional->opcode() != Opcode::kConditional) continue;
      if (!context.Allowed(*conditional, CanSelect(*conditional))) continue;
      if (!context.MayRewrite()) return changed;
      Instruction* pred = conditional->operand(0);
      if (pred->shape().element_type() != ElementType::kPred) {
        Builder builder(computation, conditional);
        pred = builder.Convert(pred, ElementType::kPred);
      }
      context.Passed(*conditional, "both branches run, a select takes the results");
      std::vector<Computation*> branches;
      for (Computation* branch : conditional->calls()) {
        if (!Contains(branches, branch)) branches.push_back(branch);
      }
      RETURN_IF_ERROR(ReplaceBySelect(conditional, pred));
      // The copies of fusions in them have their computations.
      for (Computation* branch : branches) {
        if (branch->callers().empty()) module.RemoveComputation(branch);
      }
      context.Count("selects");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ConditionalToSelect)

}  // namespace hlo
