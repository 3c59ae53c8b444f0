#include "passes/testing/foo_to_bar.h"

#include "lib/ir/any_instruction.h"

namespace hlo {

bool RenameInstructions(Module& module, PassContext& context, std::string_view from,
                        std::string_view to) {
  bool changed = false;
  for (Instruction* instruction : AllInstructions(module)) {
    if (instruction->name() != from || !context.MayRewrite()) continue;
    module.Rename(instruction, to);
    context.Count("renamed");
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> FooToBar::Run(Module& module, PassContext& context) {
  return RenameInstructions(module, context, "foo", "bar");
}

HLO_DEFINE_PASS(FooToBar)

}  // namespace hlo
