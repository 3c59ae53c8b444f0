#include "passes/expander.h"

namespace hlo {

absl::StatusOr<bool> ExpanderPass::Run(Module& module, PassContext& context) {
  const OpcodeSet roots = Roots();
  const auto matches_here = [&](const Instruction& instruction) {
    return roots.Has(instruction.opcode()) && Matches(instruction);
  };
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, roots)) {
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
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context);
      rewriter.set_origin(instruction);
      ASSIGN_OR_RETURN(Instruction* const replacement, Expand(instruction, rewriter));
      RETURN_IF_ERROR(rewriter.status());
      if (replacement != nullptr) {
        RET_CHECK(Compatible(replacement->shape(), instruction->shape()),
                  "expansion of `{}` changes its shape `{}` to `{}`", instruction->name(),
                  instruction->shape(), replacement->shape());
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
