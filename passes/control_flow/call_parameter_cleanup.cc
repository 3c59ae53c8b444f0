#include "passes/control_flow/call_parameter_cleanup.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ir/builder.h"

namespace hlo {
namespace {

bool IsCleanable(const Computation& computation) {
  return computation.root()->opcode() == Opcode::kTuple && !computation.callers().empty() &&
         absl::c_all_of(computation.callers(), [](const CallSite& site) {
           return site.caller->opcode() == Opcode::kCall &&
                  !site.caller->attrs<CallAttrs>().is_composite;
         });
}

bool SaysMoreOfItsValue(const Instruction& tuple) {
  return tuple.sharding() != nullptr || (tuple.extras() != nullptr && tuple.extras()->origin);
}

// Whether elements may be taken out of the results.
bool MayShrinkRoot(const Computation& computation) {
  const Instruction& root = *computation.root();
  return !root.has_uses() && !root.has_control_edges() && !SaysMoreOfItsValue(root) &&
         absl::c_none_of(computation.callers(),
                         [](const CallSite& site) { return SaysMoreOfItsValue(*site.caller); });
}

// Whether callers may read their operand instead of result `element`.
bool IsPassedThrough(const Computation& computation, const Instruction& element) {
  return element.opcode() == Opcode::kParameter &&
         absl::c_all_of(computation.callers(), [&](const CallSite& site) {
           const auto number = static_cast<int>(element.parameter_number());
           return site.caller->operand(number)->shape() == element.shape();
         });
}

// Makes the results of `call` what its callee will give, for `passed`, which are operands of the
// call, what is called with.
void ShrinkResult(Instruction* call, const Computation& callee, const std::vector<bool>& passed) {
  const Instruction& root = *callee.root();
  const std::vector<Use> uses(call->uses().begin(), call->uses().end());
  std::vector<Shape> kept;
  for (int i = 0; i < root.operand_count(); ++i) {
    if (!passed[static_cast<size_t>(i)]) kept.push_back(call->shape().element(i));
  }
  call->set_shape(Shape::Tuple(kept));
  Builder b(call);
  std::vector<Instruction*> elements;
  int64_t next = 0;
  for (int i = 0; i < root.operand_count(); ++i) {
    elements.push_back(passed[static_cast<size_t>(i)]
                           ? call->operand(static_cast<int>(root.operand(i)->parameter_number()))
                           : b.GetTupleElement(call, next++));
  }
  Instruction* const as_before = b.Tuple(elements);
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, as_before);
  if (call->is_root()) call->parent()->set_root(as_before);
}

// Takes parameters out of the results.
bool PassAround(Computation& computation, PassContext& context) {
  Instruction* const root = computation.root();
  std::vector<bool> passed;
  for (const Instruction* element : root->operands())
    passed.push_back(IsPassedThrough(computation, *element));
  if (!absl::c_linear_search(passed, true)) return false;
  if (!MayShrinkRoot(computation)) {
    context.Missed(*root, "more is known of the tuple, or it is read, than its elements");
    return false;
  }
  if (!context.MayRewrite()) return false;
  context.Passed(*root, "callers read what they pass on themselves");
  for (const CallSite& site : computation.callers()) ShrinkResult(site.caller, computation, passed);
  std::vector<Shape> kept;
  for (int i = root->operand_count(); i-- > 0;) {
    if (passed[static_cast<size_t>(i)]) root->RemoveOperand(i);
  }
  for (const Instruction* element : root->operands()) kept.push_back(element->shape());
  root->set_shape(Shape::Tuple(kept));
  context.Count("results", absl::c_count(passed, true));
  return true;
}

bool RemoveUnread(Computation& computation, PassContext& context) {
  bool changed = false;
  for (int i = computation.parameter_count(); i-- > 0;) {
    Instruction* const parameter = computation.parameter(i);
    if (parameter->has_uses() || parameter->has_control_edges() || !context.MayRewrite()) continue;
    context.Passed(*parameter, "is not read");
    computation.RemoveParameterAndOperands(i);
    context.Count("parameters");
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> CallParameterCleanup::Run(Module& module, PassContext& context) {
  bool changed = false;
  // Callees first: what a call no longer reads may be a parameter that nothing else reads.
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (!IsCleanable(*computation)) continue;
    changed |= PassAround(*computation, context);
    changed |= RemoveUnread(*computation, context);
  }
  return changed;
}

HLO_DEFINE_PASS(CallParameterCleanup)

}  // namespace hlo
