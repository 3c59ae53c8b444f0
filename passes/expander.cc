#include "passes/expander.h"

#include "lib/ir/async_chain.h"
#include "lib/ir/verify_meaning.h"
#include "passes/util/discard.h"

namespace hlo {
namespace {

// `value` with floats as wide as those of `shape`: an instruction may be declared with another
// width than its operands give it.
Instruction* WithWidthsOf(Shape shape, Instruction* value, Rewriter& rewriter) {
  if (value->shape().IsTuple() && shape.IsTuple() &&
      value->shape().element_count_of_tuple() == shape.element_count_of_tuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      elements.push_back(
          WithWidthsOf(shape.element(i), rewriter.GetTupleElement(value, i), rewriter));
    return rewriter.Tuple(elements);
  }
  if (!value->shape().IsArray() || !shape.IsArray() || !IsFloat(shape.element_type()) ||
      !IsFloat(value->shape().element_type()) ||
      shape.element_type() == value->shape().element_type())
    return value;
  return rewriter.Convert(value, shape.element_type());
}

}  // namespace

absl::StatusOr<bool> ExpanderPass::Run(Module& module, PassContext& context) {
  const OpcodeSet roots = Roots();
  const auto matches_here = [&](const Instruction& instruction) {
    return roots.Has(instruction.opcode()) && HasMeaning(instruction) && Matches(instruction);
  };
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, roots)) {
    if (IsAsyncBody(*computation)) continue;
    // The order is found only where there is something to be done in it.
    bool has_matches = false;
    for (const Instruction* instruction : computation->instructions())
      has_matches = has_matches || matches_here(*instruction);
    if (!has_matches) continue;
    std::vector<Instruction*> matches;
    for (Instruction* instruction : computation->PostOrder()) {
      if (matches_here(*instruction)) matches.push_back(instruction);
    }
    for (Instruction* instruction : matches) {
      if (!context.MayRewrite()) return changed;
      const uint32_t first_new = module.id_limit(), first_region = module.serial_limit();
      Rewriter rewriter(computation, context, instruction);
      ASSIGN_OR_RETURN(Instruction * replacement, Expand(instruction, rewriter));
      if (replacement != nullptr && !Compatible(replacement->shape(), instruction->shape()))
        replacement = WithWidthsOf(instruction->shape(), replacement, rewriter);
      RETURN_IF_ERROR(rewriter.status());
      if (replacement != nullptr) {
        if (!Compatible(replacement->shape(), instruction->shape())) {
          RET_CHECK(CompatibleIgnoringDynamic(replacement->shape(), instruction->shape()),
                    "expansion of `{}` changes its shape `{}` to `{}`", instruction->name(),
                    instruction->shape(), replacement->shape());
          context.Missed(*instruction, "its shape is declared dynamic, and its operands' are not");
          Discard(replacement, first_new, first_region);
          continue;
        }
        context.Passed(*instruction, "`{}` takes its place", replacement->name());
        if (context.rule_trace()) context.rule_trace()(context.pass(), *instruction, *replacement);
        ReplaceKeepingExtras(instruction, replacement, first_new);
      } else {
        context.Passed(*instruction, "rewritten");
      }
      context.Count("expanded");
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
