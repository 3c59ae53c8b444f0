#include <functional>

#include "lib/ir/module.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

template <class Fn>
bool ForAll(Module& module, const Fn& fn) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) changed |= fn(*instruction);
  }
  return changed;
}

// Sets a value to its default; false when it was.
template <class T>
bool Clear(T& value) {
  if (value == T()) return false;
  value = T();
  return true;
}

template <class Fn>
bool ClearExtra(Instruction& instruction, const Fn& clear) {
  return instruction.extras() != nullptr && clear(instruction.mutable_extras());
}

bool DropMetadata(Instruction& instruction) {
  return ClearExtra(instruction, [](Extras& extras) {
    bool changed = Clear(extras.metadata);
    if (extras.origin) changed = true, extras.origin = {};
    if (extras.statistics) changed = true, extras.statistics = {};
    return changed;
  });
}

bool DropSharding(Instruction& instruction) {
  return ClearExtra(instruction, [](Extras& extras) {
    if (!extras.sharding) return false;
    extras.sharding = {};
    return true;
  });
}

bool DropFrontendAttributes(Instruction& instruction) {
  return ClearExtra(instruction, [](Extras& extras) { return Clear(extras.frontend_attributes); });
}

bool DropBackendConfig(Instruction& instruction) {
  return ClearExtra(instruction, [](Extras& extras) { return Clear(extras.backend_config); });
}

bool DropAccuracy(Instruction& instruction) {
  return ClearExtra(instruction, [](Extras& extras) {
    if (!extras.result_accuracy) return false;
    extras.result_accuracy = {};
    return true;
  });
}

bool DropEdges(Instruction& instruction) {
  if (!instruction.has_control_edges()) return false;
  instruction.DropControlEdges();
  return true;
}

bool DropLayout(Instruction& instruction) {
  const Shape plain = instruction.shape().WithDefaultLayout();
  if (plain == instruction.shape()) return false;
  instruction.set_shape(plain);
  if (instruction.IsConstant())
    instruction.SetAttrs(ConstantAttrs{instruction.literal().WithShapeLayout(plain)});
  return true;
}

// ---- the module ----

bool DropTables(Module& module) {
  ModuleConfig& config = module.config();
  const bool has_any = !config.stack_frames.empty() || !config.recovery_table.empty() ||
                       !config.debug_attributes.empty() || !config.frontend_attributes.empty();
  config.stack_frames = {};
  config.recovery_table.clear();
  config.debug_attributes.clear();
  config.frontend_attributes.clear();
  return has_any;
}

bool DropAliases(Module& module) {
  ModuleConfig& config = module.config();
  const bool has_any = !config.aliases.empty() || !config.donors.empty() ||
                       !config.cross_program_prefetches.empty() || config.alias_passthrough_params;
  config.aliases.clear();
  config.donors.clear();
  config.cross_program_prefetches.clear();
  config.alias_passthrough_params = false;
  return has_any;
}

bool DropPartitioning(Module& module) {
  ModuleConfig& config = module.config();
  const ModuleConfig plain;
  const bool has_any = config.replica_count != 1 || config.num_partitions != 1 ||
                       config.device_assignment || !config.spmd_parameter_shardings.empty() ||
                       config.spmd_output_sharding ||
                       config.allow_spmd_sharding_propagation_to_parameters !=
                           plain.allow_spmd_sharding_propagation_to_parameters ||
                       config.allow_spmd_sharding_propagation_to_output !=
                           plain.allow_spmd_sharding_propagation_to_output;
  config.replica_count = config.num_partitions = 1;
  config.device_assignment.reset();
  config.spmd_parameter_shardings.clear();
  config.spmd_output_sharding.reset();
  config.allow_spmd_sharding_propagation_to_parameters =
      plain.allow_spmd_sharding_propagation_to_parameters;
  config.allow_spmd_sharding_propagation_to_output =
      plain.allow_spmd_sharding_propagation_to_output;
  return has_any;
}

bool DropSchedule(Module& module) {
  if (!module.is_scheduled()) return false;
  module.ClearSchedule();
  return true;
}

bool DropEntryLayout(Module& module) {
  const EntryLayout before = module.config().entry_layout;
  module.ResetEntryLayout();
  return !(before == module.config().entry_layout);
}

}  // namespace

bool DropAttributes(Reducer& reducer) {
  reducer.set_step("attributes");
  const std::vector<std::function<bool(Module&)>> of_module = {DropTables, DropAliases,
                                                               DropPartitioning, DropSchedule};
  const std::vector<std::function<bool(Instruction&)>> of_instructions = {
      DropMetadata,      DropFrontendAttributes, DropSharding,
      DropBackendConfig, DropAccuracy,           DropEdges,
      DropLayout};
  // Most often none of all this matters.
  const bool all = reducer.Try([&](Module& module) {
    bool changed = false;
    for (const auto& drop : of_module) changed |= drop(module);
    for (const auto& drop : of_instructions) changed |= ForAll(module, drop);
    return DropEntryLayout(module) || changed;
  });
  if (all) return true;
  bool improved = false;
  for (const auto& drop : of_module) improved |= reducer.Try(drop);
  improved |= reducer.Try(DropEntryLayout);
  for (const auto& drop : of_instructions) {
    if (reducer.Try([&](Module& module) { return ForAll(module, drop); })) {
      improved = true;
      continue;
    }
    std::vector<std::string> carriers;
    const std::unique_ptr<Module> copy = reducer.best().Clone();
    ForAll(*copy, [&](Instruction& instruction) {
      if (drop(instruction)) carriers.emplace_back(instruction.name());
      return false;
    });
    improved |= reducer.TryChunks(std::move(carriers), [&](Module& module, const auto& names) {
      const std::set<std::string_view> wanted(names.begin(), names.end());
      return ForAll(module, [&](Instruction& instruction) {
        return wanted.contains(instruction.name()) && drop(instruction);
      });
    });
  }
  return improved;
}

}  // namespace hlo
