#include "passes/buffers/alias_passthrough_params.h"

#include <algorithm>

#include "passes/buffers/entry_alias.h"

namespace hlo {
namespace {

// Whether the result, or the parameter as a whole, has an alias.
bool IsTaken(const ModuleConfig& config, const ShapeIndex& output, int64_t parameter) {
  return std::any_of(config.aliases.begin(), config.aliases.end(),
                     [&](const InputOutputAlias& alias) {
                       return alias.output == output ||
                              (alias.parameter == parameter && alias.parameter_index.empty());
                     });
}

}  // namespace

absl::StatusOr<bool> AliasPassthroughParams::Run(Module& module, PassContext& context) {
  const Instruction* const root = module.entry()->root();
  if (root->opcode() != Opcode::kTuple) return false;
  ModuleConfig& config = module.config();
  bool changed = false;
  for (int i = 0; i < root->operand_count(); ++i) {
    const Instruction* const value = root->operand(i);
    if (value->opcode() != Opcode::kParameter || !value->shape().IsArray()) continue;
    const ShapeIndex output = {i};
    if (IsTaken(config, output, value->parameter_number())) continue;
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
