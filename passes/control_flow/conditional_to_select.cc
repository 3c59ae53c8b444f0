#include "passes/control_flow/conditional_to_select.h"

#include "absl/container/flat_hash_map.h"
#include "lib/support/contains.h"
#include "lib/support/decision.h"
#include "passes/control_flow/branch_select.h"

namespace hlo {
namespace {

// How a computation is reached.
struct Reached {
  bool per_element = false;
  bool by_control_flow = false;
};

bool PassesControl(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kConditional || opcode == Opcode::kCall ||
         opcode == Opcode::kAsyncStart;
}

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
  const std::vector<Computation*> callees_first = context.Computations(module);
  absl::flat_hash_map<const Computation*, Reached> reached;
  for (size_t i = callees_first.size(); i-- > 0;) {
    const Computation& computation = *callees_first[i];
    Reached& here = reached[&computation];
    if (computation.is_entry() || computation.callers().empty()) here.by_control_flow = true;
    const Reached from = here;
    for (const Instruction* instruction : computation.instructions()) {
      const bool inherits = PassesControl(instruction->opcode());
      for (const Computation* callee : instruction->calls()) {
        Reached& to = reached[callee];
        to.per_element = to.per_element || !inherits || from.per_element;
        to.by_control_flow = to.by_control_flow || (inherits && from.by_control_flow);
      }
    }
  }
  bool changed = false;
  for (Computation* computation : callees_first) {
    const Reached& here = reached[computation];
    if (!here.per_element || here.by_control_flow) continue;
    for (Instruction* conditional : computation->PostOrder()) {
      if (conditional->opcode() != Opcode::kConditional) continue;
      if (const Decision decision = CanSelect(*conditional); !decision) {
        context.Missed(*conditional, decision.reason());
        continue;
      }
      if (!context.MayRewrite()) return changed;
      Instruction* pred = conditional->operand(0);
      if (pred->shape().element_type() != ElementType::kPred) {
        Builder builder(computation);
        builder.set_origin(conditional);
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
