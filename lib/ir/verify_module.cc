// Rules of the module as a whole:
//
//   entry layout   has a shape per parameter of the entry and one for its result, equal to theirs
//                  (layouts: with layout_sensitive the order of dimensions); a module that never
//                  got one is let through
//   aliases        outputs and parameters exist and are arrays, each is named once; with must-alias
//                  both have one shape, layout included
//   donors         exist, are arrays, named once and not aliased
//   parameters     dynamic sizes are scalars `s32[]` of dimensions that exist, prefetched parts are
//                  arrays, each parameter has a sharding if the partitioner gave any
//   devices        are assigned to every replica and partition, if to any
//   schedule       a scheduled module has a sequence for every computation that is not a
//                  fusion's; a sequence holds each instruction once, after its operands and
//                  control predecessors
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/verify_internal.h"

namespace hlo::internal {
namespace {

class ModuleVerifier {
 public:
  explicit ModuleVerifier(const VerifyContext& context)
      : context_(context), module_(context.module), findings_(context.findings) {}

  void Run() {
    if (CheckEntryLayout()) {
      CheckAliases();
      CheckParameterFacts();
    }
    CheckDeviceAssignment();
    CheckSchedules();
  }

 private:
  bool CheckEntryLayout() {
    const EntryLayout& layout = module_.config().entry_layout;
    if (layout == EntryLayout()) return true;
    const Computation& entry = *module_.entry();
    if (static_cast<int>(layout.parameters.size()) != entry.parameter_count()) {
      findings_.Add(entry.loc(), "`entry_computation_layout` has {} parameters, but `{}` has {}",
                    layout.parameters.size(), entry.name(), entry.parameter_count());
      return false;
    }
    const Agreement agreement = ExactWhereLayoutsCount(
        context_.options, {.tiles = true, .memory_space = true, .tail_padding = true});
    bool sound = true;
    for (int i = 0; i < entry.parameter_count(); ++i) {
      const Instruction* parameter = entry.parameter(i);
      const Shape shape = layout.parameters[static_cast<size_t>(i)];
      if (Agree(shape, parameter->shape(), agreement)) continue;
      sound = false;
      findings_.Add(parameter->loc(),
                    "parameter {} of `entry_computation_layout` is `{}`, but `{}` has shape `{}`",
                    i, shape.Text(agreement.layout), parameter->name(),
                    parameter->shape().Text(agreement.layout));
    }
    const Instruction* root = entry.root();
    if (Agree(layout.result, root->shape(), agreement)) return sound;
    findings_.Add(
        root->loc(),
        "the result of `entry_computation_layout` is `{}`, but the root `{}` has shape `{}`",
        layout.result.Text(agreement.layout), root->name(), root->shape().Text(agreement.layout));
    return false;
  }

  // The array at an index of a parameter, or nothing after a message. `what` names the attribute.
  std::optional<Shape> ParameterPart(std::string_view what, int64_t parameter,
                                     const ShapeIndex& index) {
    const Computation& entry = *module_.entry();
    if (parameter < 0 || parameter >= entry.parameter_count()) {
      findings_.Add(entry.loc(), "`{}` names parameter {}, but `{}` has {}", what, parameter,
                    entry.name(), entry.parameter_count());
      return std::nullopt;
    }
    const Instruction* instruction = entry.parameter(static_cast<int>(parameter));
    const bool exists = IndexIsValid(instruction->shape(), index);
    if (exists && SubShape(instruction->shape(), index).IsArray())
      return PartOfLayout(parameter, index);
    findings_.Add(instruction->loc(),
                  "`{}` names index {} of parameter {}, `{}`, which is not an array", what,
                  ToString(index), parameter, instruction->shape());
    return std::nullopt;
  }

  // As the entry layout has it; -1: the result.
  Shape PartOfLayout(int64_t parameter, const ShapeIndex& index) {
    const EntryLayout& layout = module_.config().entry_layout;
    const Computation& entry = *module_.entry();
    if (layout == EntryLayout()) {
      return SubShape(parameter < 0 ? entry.root()->shape()
                                    : entry.parameter(static_cast<int>(parameter))->shape(),
                      index);
    }
    return SubShape(
        parameter < 0 ? layout.result : layout.parameters[static_cast<size_t>(parameter)], index);
  }

  void CheckAliases() {
    const Instruction* root = module_.entry()->root();
    absl::flat_hash_set<std::pair<int64_t, ShapeIndex>> named;  // parameter and index; -1: output
    for (const InputOutputAlias& alias : module_.config().aliases) {
      if (!IndexIsValid(root->shape(), alias.output) ||
          !SubShape(root->shape(), alias.output).IsArray()) {
        findings_.Add(root->loc(),
                      "`input_output_alias` names output {} of `{}`, which is not an array",
                      ToString(alias.output), root->shape());
        continue;
      }
      const std::optional<Shape> from =
          ParameterPart("input_output_alias", alias.parameter, alias.parameter_index);
      if (!from.has_value()) continue;
      const Shape to = PartOfLayout(-1, alias.output);
      if (!named.insert({-1, alias.output}).second) {
        findings_.Add(root->loc(), "`input_output_alias` names output {} twice",
                      ToString(alias.output));
      }
      if (!named.insert({alias.parameter, alias.parameter_index}).second) {
        findings_.Add(root->loc(), "`input_output_alias` names index {} of parameter {} twice",
                      ToString(alias.parameter_index), alias.parameter);
      }
      if (alias.must_alias && !Agree(*from, to, {.layout = true})) {
        findings_.Add(
            root->loc(),
            "output {}, `{:l}`, must alias index {} of parameter {}, `{:l}`; expected equal shapes",
            ToString(alias.output), to, ToString(alias.parameter_index), alias.parameter, *from);
      } else if (context_.options.layout_sensitive && SizeOf(*from) != SizeOf(to)) {
        findings_.Add(root->loc(),
                      "output {}, `{}`, aliases index {} of parameter {}, `{}`; expected equal "
                      "numbers of bytes",
                      ToString(alias.output), to, ToString(alias.parameter_index), alias.parameter,
                      *from);
      }
    }
    for (const BufferDonor& donor : module_.config().donors) {
      if (!ParameterPart("buffer_donor", donor.parameter, donor.index).has_value()) continue;
      if (named.insert({donor.parameter, donor.index}).second) continue;
      findings_.Add(
          module_.entry()->parameter(static_cast<int>(donor.parameter))->loc(),
          "`buffer_donor` names index {} of parameter {}, which is donated or aliased already",
          ToString(donor.index), donor.parameter);
    }
  }

  // What is kept about parts of parameters besides aliases.
  void CheckParameterFacts() {
    for (const DynamicParameterBinding& binding : module_.config().dynamic_parameters) {
      const std::optional<Shape> size =
          ParameterPart("dynamic size", binding.size_parameter, binding.size_index);
      const std::optional<Shape> sized =
          ParameterPart("dynamic size", binding.parameter, binding.index);
      if (!size.has_value() || !sized.has_value()) continue;
      if (size->IsScalarOf(ElementType::kS32) && binding.dim >= 0 && binding.dim < sized->rank())
        continue;
      findings_.Add(module_.entry()->loc(),
                    "index {} of parameter {}, `{}`, cannot hold the size of dimension {} of `{}`",
                    ToString(binding.size_index), binding.size_parameter, *size, binding.dim,
                    *sized);
    }
    for (const CrossProgramPrefetch& prefetch : module_.config().cross_program_prefetches)
      ParameterPart("cross-program prefetch", prefetch.parameter, prefetch.index);
    const size_t shardings = module_.config().spmd_parameter_shardings.size();
    const int parameters = module_.entry()->parameter_count();
    if (shardings == 0 || static_cast<int>(shardings) == parameters) return;
    findings_.Add(module_.entry()->loc(),
                  "the partitioner gave shardings of {} parameters, but `{}` has {}", shardings,
                  module_.entry()->name(), parameters);
  }

  void CheckDeviceAssignment() {
    const std::optional<DeviceAssignment>& devices = module_.config().device_assignment;
    if (!devices.has_value()) return;
    const int64_t replicas = module_.config().replica_count;
    const int64_t partitions = module_.config().num_partitions;
    bool fits = static_cast<int64_t>(devices->size()) == replicas;
    for (const std::vector<int64_t>& replica : *devices)
      fits = fits && static_cast<int64_t>(replica.size()) == partitions;
    if (fits) return;
    findings_.Add({}, "the device assignment is not one of {} replicas of {} partitions", replicas,
                  partitions);
  }

  int64_t SizeOf(Shape shape) const {
    return context_.options.shape_size != nullptr ? context_.options.shape_size(shape)
                                                  : shape.byte_size();
  }

  void CheckSchedules() {
    std::vector<bool> done;
    for (const Computation* computation : module_.computations()) {
      if (computation->has_schedule()) {
        if (done.empty()) done.resize(module_.id_limit(), false);
        CheckSchedule(*computation, done);
      } else if (module_.is_scheduled() && !computation->is_fusion()) {
        findings_.Add(computation->loc(),
                      "the module is scheduled, but computation `{}` has no sequence",
                      computation->name());
      }
    }
  }

  // `done` by id; only ids of this computation are touched.
  void CheckSchedule(const Computation& computation, std::vector<bool>& done) {
    for (const Instruction* instruction : computation.schedule()) {
      if (instruction->is_dead() || instruction->parent() != &computation) {
        return findings_.Add(computation.loc(),
                             "the sequence of computation `{}` names `{}`, which is not in it",
                             computation.name(), instruction->name());
      }
      if (done[instruction->id()]) {
        return findings_.Add(instruction->loc(),
                             "`{}` is twice in the sequence of computation `{}`",
                             instruction->name(), computation.name());
      }
      done[instruction->id()] = true;
      const auto check = [&](const Instruction* before) {
        if (done[before->id()]) return;
        findings_.Add(instruction->loc(), "`{}` is scheduled before `{}`, which it needs",
                      instruction->name(), before->name());
        findings_.NoteDefinition(*before);
      };
      for (const Instruction* operand : instruction->operands()) check(operand);
      for (const Instruction* predecessor : instruction->control_predecessors()) check(predecessor);
      if (findings_.full()) return;
    }
    for (const Instruction* instruction : computation.instructions()) {
      if (done[instruction->id()]) continue;
      return findings_.Add(instruction->loc(),
                           "`{}` is missing in the sequence of computation `{}`",
                           instruction->name(), computation.name());
    }
  }

  const VerifyContext& context_;
  const Module& module_;
  Findings& findings_;
};

}  // namespace

void VerifyModuleConfig(const VerifyContext& context) { ModuleVerifier(context).Run(); }

}  // namespace hlo::internal
