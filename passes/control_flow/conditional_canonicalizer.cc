#include "passes/control_flow/conditional_canonicalizer.h"

#include "lib/ir/async_chain.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// What was said about a value holds for the only element of a tuple.
void WrapExtras(Instruction* tuple) {
  if (tuple->extras() == nullptr) return;
  Extras& extras = tuple->mutable_extras();
  extras.origin.reset();
  if (extras.sharding && !extras.sharding->is_tuple)
    extras.sharding = Sharding::Tuple({extras.sharding->leaves[0]});
}

bool CalledByConditionalsOnly(const Computation& branch) {
  return absl::c_all_of(branch.callers(), [](const CallSite& site) {
    return site.caller->opcode() == Opcode::kConditional;
  });
}

void WrapParameter(Instruction* parameter) {
  Computation& computation = *parameter->parent();
  const Shape shape = parameter->shape();
  parameter->set_shape(Shape::Tuple({shape}));
  Builder builder(&computation, parameter);
  Instruction* element = builder.GetTupleElement(parameter, 0);
  if (parameter->sharding() != nullptr) element->set_sharding(*parameter->sharding());
  WrapExtras(parameter);
  const std::vector<Use> uses(parameter->uses().begin(), parameter->uses().end());
  for (const Use& use : uses) {
    if (use.user != element) use.user->ReplaceOperand(use.operand_index, element);
  }
  if (computation.root() == parameter) computation.set_root(element);
}

void WrapRoot(Computation& computation) {
  Instruction* root = computation.root();
  Builder builder(&computation, root);
  Instruction* tuple = builder.Tuple({root});
  if (root->sharding() != nullptr) {
    tuple->set_sharding(*root->sharding());
    WrapExtras(tuple);
  }
  computation.set_root(tuple);
}

bool NeedsTuples(const Instruction& conditional) {
  if (!conditional.shape().IsTuple()) return true;
  for (int i = 1; i < conditional.operand_count(); ++i) {
    if (!conditional.operand(i)->shape().IsTuple()) return true;
  }
  return false;
}

// The computation whose root is not a tuple is changed for all its conditionals at
// once: so are they.
absl::Status Canonicalize(Instruction* conditional) {
  Module& module = conditional->module();
  Computation& computation = *conditional->parent();
  Builder builder(&computation, conditional);
  for (int i = 0; i < conditional->call_count(); ++i) {
    Computation* branch = conditional->call(i);
    const bool wraps =
        !branch->parameter(0)->shape().IsTuple() || !branch->root()->shape().IsTuple();
    if (wraps && !CalledByConditionalsOnly(*branch)) {
      Computation* clone = module.CloneComputation(*branch, ".clone", /*deep=*/false);
      module.MoveToFront(clone, &computation);
      conditional->SetCall(i, clone);
      branch = clone;
    }
    if (!branch->parameter(0)->shape().IsTuple()) WrapParameter(branch->parameter(0));
    if (!branch->root()->shape().IsTuple()) WrapRoot(*branch);
    Instruction* operand = conditional->operand(i + 1);
    if (!operand->shape().IsTuple()) conditional->ReplaceOperand(i + 1, builder.Tuple({operand}));
  }
  if (!conditional->shape().IsTuple()) {
    const std::vector<Use> uses(conditional->uses().begin(), conditional->uses().end());
    conditional->set_shape(Shape::Tuple({conditional->shape()}));
    Instruction* element = builder.GetTupleElement(conditional, 0);
    if (conditional->sharding() != nullptr) element->set_sharding(*conditional->sharding());
    PassOnFrontendAttributes(*conditional, element);
    element->set_metadata(conditional->metadata());
    WrapExtras(conditional);
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, element);
    if (conditional->is_root()) computation.set_root(element);
  }
  return builder.status();
}

}  // namespace

absl::StatusOr<bool> ConditionalCanonicalizer::Run(Module& module, PassContext& context) {
  std::vector<Instruction*> conditionals;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConditional})) {
    if (IsAsyncBody(*computation)) continue;  // holds one operation
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kConditional && NeedsTuples(*instruction))
        conditionals.push_back(instruction);
    }
  }
  // All or none: conditionals may share computations.
  if (conditionals.empty() || !context.MayRewrite()) return false;
  for (Instruction* conditional : conditionals) {
    context.Passed(*conditional, "operands and results become tuples");
    RETURN_IF_ERROR(Canonicalize(conditional));
    context.Count("canonicalized");
  }
  return true;
}

HLO_DEFINE_PASS(ConditionalCanonicalizer)

}  // namespace hlo
