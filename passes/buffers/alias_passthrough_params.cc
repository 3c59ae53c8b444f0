#include "passes/buffers/alias_passthrough_params.h"

#include "lib/ir/entry_info.h"
#include "passes/buffers/entry_alias.h"

namespace hlo {

absl::StatusOr<bool> AliasPassthroughParams::Run(Module& module, PassContext& context) {
  const Instruction* const root = module.entry()->root();
  if (root->opcode() != Opcode::kTuple) return false;
  ModuleConfig& config = module.config();
  bool changed = false;
  for (int i = 0; i < root->operand_count(); ++i) {
    const Instruction* const value = root->operand(i);
    if (value->opcode() != Opcode::kParameter || !value->shape().IsArray()) continue;
    const ShapeIndex output = {i};
    if (AliasOfOutput(module, output) != nullptr ||
        AliasOfParameter(module, value->parameter_number(), {}) != nullptr)
      continue;
    if (!context.MayRewrite()) break;
    context.Passed(*value, "result {} shares its buffer", i);
    AddEntryAlias(config, output, value->parameter_number(), {});
    context.Count("aliases");
    changed = true;
  }
  SortEntryAliases(config);
  return changed;
}

HLO_DEFINE_PASS(AliasPassthroughParams)

}  // namespace hlo
