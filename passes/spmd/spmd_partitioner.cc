#include "passes/spmd/spmd_partitioner.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/status.h"
#include "passes/spmd/partitioner.h"

namespace hlo {
namespace {

// Of an array of dynamic size no dimension is divided that may be smaller: how much of it a device
// has would depend on that size. Such an array is whole on all devices.
bool DividesDynamicDims(const Sharding::Leaf& leaf, Shape array, int64_t devices) {
  if (!array.IsArray() || !array.has_dynamic_dims()) return false;
  const absl::StatusOr<Placement> placement = Placement::Of(leaf, array.rank(), devices);
  for (int d = 0; placement.ok() && d < array.rank(); ++d) {
    if (array.is_dynamic(d) && placement->tiles(d) > 1) return true;
  }
  return false;
}

// How a parameter or the result of the entry is divided.
Sharding ShardingOf(const Instruction& instruction, int64_t devices) {
  if (instruction.sharding() == nullptr) return Sharding::Replicated();
  Sharding sharding = *instruction.sharding();
  const std::vector<Shape> leaves = LeafShapes(instruction.shape());
  for (size_t i = 0; i < leaves.size() && !sharding.leaves.empty(); ++i) {
    Sharding::Leaf& leaf = sharding.leaves[sharding.is_tuple ? i : 0];
    if (DividesDynamicDims(leaf, leaves[i], devices)) leaf = Sharding::Replicated().leaves[0];
  }
  return sharding;
}

// Layouts of what was built, where the module has them.
void FillLayouts(Computation& computation) {
  for (Instruction* instruction : computation.instructions())
    instruction->set_shape(instruction->shape().WithMissingLayoutsFilled());
}

void RemoveUnused(Computation& computation) {
  std::vector<Instruction*> order = computation.PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Instruction* instruction = *it;
    if (!instruction->is_used() && instruction->opcode() != Opcode::kParameter &&
        !instruction->HasSideEffect() && !instruction->has_control_edges())
      computation.Remove(instruction);
  }
}

// The layout that the entry was asked for, of what a device has: the order of the dimensions stays.
EntryLayout DividedLayout(const EntryLayout& layout, const Computation& entry) {
  const auto divided = [](Shape now, Shape asked, auto& self) -> Shape {
    if (asked.IsTuple()) {
      std::vector<Shape> elements;
      for (int i = 0; i < asked.element_count_of_tuple(); ++i)
        elements.push_back(self(now.element(i), asked.element(i), self));
      return Shape::Tuple(elements);
    }
    return asked.has_layout() ? now.WithLayout(asked.layout()) : now;
  };
  EntryLayout result = layout;
  for (int i = 0; i < entry.parameter_count(); ++i) {
    Shape& shape = result.parameters[static_cast<size_t>(i)];
    shape = divided(entry.parameter(i)->shape(), shape, divided);
  }
  result.result = divided(entry.root()->shape(), layout.result, divided);
  return result;
}

// A result cannot be written over a parameter that became another size.
void DropUnlikeAliases(ModuleConfig& config, const Computation& entry) {
  std::erase_if(config.aliases, [&](const InputOutputAlias& alias) {
    const Shape parameter = entry.parameter(static_cast<int>(alias.parameter))->shape();
    return !Compatible(SubShape(parameter, alias.parameter_index),
                       SubShape(entry.root()->shape(), alias.output));
  });
}

// Makes `made` the entry; what the configuration says of the old one holds of it.
void ReplaceEntry(Module& module, Computation& made, int64_t partitions) {
  Computation& old = *module.entry();
  const ModuleConfig before = module.config();
  const Sharding result = ShardingOf(*old.root(), partitions);
  std::vector<Sharding> parameters;
  for (Instruction* parameter : old.parameters()) {
    Instruction* now = made.parameter(static_cast<int>(parameter->parameter_number()));
    parameters.push_back(ShardingOf(*parameter, partitions));
    if (parameter->sharding() != nullptr) now->set_sharding(parameters.back());
    module.MoveName(*parameter, now);
  }
  module.ReplaceEntry(&made);
  ModuleConfig& config = module.config();
  config.aliases = before.aliases;
  config.donors = before.donors;
  config.dynamic_parameters = before.dynamic_parameters;
  config.cross_program_prefetches = before.cross_program_prefetches;
  config.spmd_parameter_shardings = std::move(parameters);
  config.spmd_output_sharding = result;
  config.entry_layout = DividedLayout(before.entry_layout, made);
  DropUnlikeAliases(config, made);
}

absl::Status CheckKept(const Instruction& value, const Placements& leaves, std::string_view what) {
  const bool is_kept =
      absl::c_all_of(leaves, [](const Placement* leaf) { return leaf->IsWhole(); });
  if (is_kept) return absl::OkStatus();
  return Error(value.loc(),
               "a device would have a part of the {} `{}`, but the shapes of the entry are to stay "
               "(allow_module_signature_change=false)",
               what, value.name());
}

}  // namespace

absl::StatusOr<bool> SpmdPartitioner::Run(Module& module, PassContext& context) {
  ModuleConfig& config = module.config();
  const int64_t partitions =
      options_.num_partitions > 0 ? options_.num_partitions : config.num_partitions;
  if (partitions <= 1 || !context.MayRewrite()) return false;
  constexpr int64_t kMostPartitions = 1 << 20;  // tables have a place for each
  if (partitions > kMostPartitions) {
    return Unsupported(module.entry()->root()->loc(),
                       "a program of {} partitions; at most {} can be made", partitions,
                       kMostPartitions);
  }
  ModulePartitioner partitioner(module, partitions, options_.cache_all_gather);
  Computation& entry = *module.entry();
  std::vector<Placements> parameters;
  for (const Instruction* parameter : entry.parameters()) {
    ASSIGN_OR_RETURN(parameters.emplace_back(),
                     partitioner.PlacementsOf(ShardingOf(*parameter, partitions),
                                              parameter->shape(), *parameter));
  }
  ASSIGN_OR_RETURN(const Placements result,
                   partitioner.PlacementsOf(ShardingOf(*entry.root(), partitions),
                                            entry.root()->shape(), *entry.root()));
  if (!options_.allow_module_signature_change) {
    for (size_t i = 0; i < parameters.size(); ++i)
      RETURN_IF_ERROR(CheckKept(*entry.parameter(static_cast<int>(i)), parameters[i], "parameter"));
    RETURN_IF_ERROR(CheckKept(*entry.root(), result, "result"));
  }
  const std::vector<Computation*> before = module.computations();
  const auto made = partitioner.Partition(entry, parameters, &result);
  if (!made.ok()) {
    module.RemoveUnusedComputations();  // what was made so far
    return made.status();
  }
  config.num_partitions = partitions;
  ReplaceEntry(module, *made->computation, partitions);
  module.RemoveUnusedComputations();
  for (Computation* computation : module.computations()) {
    if (absl::c_linear_search(before, computation)) continue;
    RemoveUnused(*computation);
    FillLayouts(*computation);
  }
  module.ClearSchedule();
  return true;
}

HLO_DEFINE_PASS(SpmdPartitioner)

}  // namespace hlo
