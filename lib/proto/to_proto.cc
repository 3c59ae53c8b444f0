#include "lib/ir/call_order.h"
#include "lib/proto/attrs.h"
#include "lib/proto/proto.h"
#include "lib/proto/schema.h"
#include "lib/support/saturate.h"
#include "lib/support/status.h"
#include "lib/types/elided.h"

namespace hlo {
namespace {

using internal::FieldWriter;

template <class A>
void WriteAttrs(const FieldWriter& io, const AttrsPtr& attrs) {
  if (!attrs) return;
  A copy = attrs.Get<A>();
  Map(io, copy);
}

void WriteOwnAttributes(const FieldWriter& io, const Instruction& instruction) {
  using Writer = void (*)(const FieldWriter&, const AttrsPtr&);
  static constexpr Writer kWriters[] = {
#define HLO_OP(Name, text, operands, calls, attributes, ...) &WriteAttrs<attributes>,
#include "lib/ops/ops.def"
  };
  kWriters[static_cast<size_t>(instruction.opcode())](io, instruction.attrs_ptr());
}

absl::Status CheckNoneElided(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->IsConstant() && HoldsElided(instruction->literal())) {
        return Error(instruction->loc(),
                     "the values of `{}` are elided, and a serialized module has no way to say so",
                     instruction->name());
      }
    }
  }
  return absl::OkStatus();
}

class ModuleWriter {
 public:
  ModuleWriter(const Module& module, google::protobuf::Message& proto, TextReader read)
      : module_(module), io_(proto), read_(read) {}

  absl::Status Run() {
    std::string name = module_.name();
    io_.Text("name", name);
    const std::vector<Computation*> order = CalleesFirst(module_.PostOrder());
    for (const Computation* computation : order)
      ids_.emplace(computation, static_cast<int64_t>(ids_.size()) + 1);
    for (const Computation* computation : order) WriteComputation(*computation);
    io_.Text("entry_computation_name", std::string(module_.entry()->name()));
    io_.Set("entry_computation_id", ids_.at(module_.entry()));
    io_.Set("id", 1);
    WriteConfig();
    if (module_.is_scheduled()) WriteSchedule(order);
    return WriteRecoveryTable();
  }

 private:
  // Ids are positive and unique in the module.
  static int64_t IdOf(const Instruction* instruction) { return int64_t{instruction->id()} + 1; }

  // The names of the parameters go with their shapes: readers want as many of them.
  static void WriteShapes(const FieldWriter& io, const EntryLayout& layout,
                          const Computation& computation) {
    for (const Shape shape : layout.parameters)
      internal::WriteShape(shape, *io.AddMessage("parameters"));
    io.Message("result", true,
               [&](const auto& part) { internal::WriteShape(layout.result, part.message()); });
    for (size_t i = 0; i < layout.parameters.size(); ++i)
      io.AddText("parameter_names",
                 std::string(computation.parameter(static_cast<int>(i))->name()));
  }

  void WriteComputation(const Computation& computation) {
    const FieldWriter io(*io_.AddMessage("computations"));
    io.Text("name", std::string(computation.name()));
    io.Set("id", ids_.at(&computation));
    io.Set("root_id", IdOf(computation.root()));
    io.Set("is_fusion_computation", computation.is_fusion() ? 1 : 0);
    io.Text("execution_thread", std::string(computation.execution_thread()));
    EntryLayout signature;
    for (const Instruction* parameter : computation.parameters())
      signature.parameters.push_back(parameter->shape());
    signature.result = computation.root()->shape();
    io.Message("program_shape", true,
               [&](const auto& part) { WriteShapes(part, signature, computation); });
    for (const Instruction* instruction : computation.SequenceOrPostOrder())
      WriteInstruction(*instruction, FieldWriter(*io.AddMessage("instructions")));
  }

  void WriteInstruction(const Instruction& instruction, const FieldWriter& io) {
    io.Text("name", std::string(instruction.name()));
    io.Text("opcode", std::string(instruction.opcode_text()));
    io.Set("id", IdOf(&instruction));
    Shape shape = instruction.shape();
    Part(io, "shape", shape);
    std::vector<int64_t> operands, calls, predecessors;
    for (const Instruction* operand : instruction.operands()) operands.push_back(IdOf(operand));
    for (int i = 0; i < instruction.call_count(); ++i)
      calls.push_back(ids_.at(instruction.call(i)));
    // A message has the body of a loop first.
    if (instruction.opcode() == Opcode::kWhile) std::swap(calls[0], calls[1]);
    for (const Instruction* predecessor : instruction.control_predecessors())
      predecessors.push_back(IdOf(predecessor));
    io.Ints("operand_ids", operands);
    io.Ints("called_computation_ids", calls);
    io.Ints("control_predecessor_ids", predecessors);
    WriteOwnAttributes(io, instruction);
    if (instruction.extras() == nullptr) return;
    Extras extras = *instruction.extras();
    if (extras.metadata != OpMetadata()) Part(io, "metadata", extras.metadata);
    OptionalPart(io, "sharding", extras.sharding);
    if (!extras.frontend_attributes.empty())
      Part(io, "frontend_attributes", extras.frontend_attributes);
    io.Text("backend_config", std::string(extras.backend_config.view()));
    OptionalPart(io, "statistics_viz", extras.statistics);
    OptionalPart(io, "original_value", extras.origin);
    OptionalPart(io, "result_accuracy", extras.result_accuracy);
  }

  void WriteConfig() {
    ModuleConfig config = module_.config();
    io_.Message("host_program_shape", true, [&](const auto& part) {
      WriteShapes(part, config.entry_layout, *module_.entry());
    });
    io_.Message("input_output_alias", !config.aliases.empty(), [&](const auto& part) {
      part.Each("entries", config.aliases, [](const auto& entry, InputOutputAlias& alias) {
        entry.Ints("output_shape_index", alias.output);
        entry.Int("parameter_number", alias.parameter);
        entry.Ints("parameter_shape_index", alias.parameter_index);
        entry.Set("kind", alias.must_alias ? 2 : 1);
      });
    });
    io_.Message("buffer_donor", !config.donors.empty(), [&](const auto& part) {
      part.Each("entries", config.donors, [](const auto& entry, BufferDonor& donor) {
        entry.Int("parameter_number", donor.parameter);
        entry.Ints("parameter_shape_index", donor.index);
      });
    });
    io_.Each("cross_program_prefetches", config.cross_program_prefetches,
             [](const auto& entry, CrossProgramPrefetch& prefetch) {
               entry.Int("parameter", prefetch.parameter);
               entry.Ints("index", prefetch.index);
               entry.Set("offset", prefetch.offset.value_or(0));
             });
    OptionalPart(io_, "spmd_output_sharding", config.spmd_output_sharding);
    Parts(io_, "spmd_parameters_shardings", config.spmd_parameter_shardings);
    if (!config.frontend_attributes.empty())
      Part(io_, "frontend_attributes", config.frontend_attributes);
    WriteDeviceAssignment(config);
    WriteFrames(config.stack_frames);
  }

  // Counts of replicas and partitions have no other place.
  void WriteDeviceAssignment(const ModuleConfig& config) {
    const int64_t replicas = config.replica_count, partitions = config.num_partitions;
    if (!config.device_assignment && replicas * partitions == 1) return;
    io_.Message("device_assignment", true, [&](const auto& part) {
      part.Set("replica_count", replicas);
      part.Set("computation_count", partitions);
      for (int64_t p = 0; p < partitions; ++p) {
        std::vector<int64_t> devices;
        for (int64_t r = 0; r < replicas; ++r) {
          devices.push_back(
              config.device_assignment
                  ? (*config.device_assignment)[static_cast<size_t>(r)][static_cast<size_t>(p)]
                  : r * partitions + p);
        }
        FieldWriter(*part.AddMessage("computation_devices")).Ints("replica_device_ids", devices);
      }
    });
  }

  void WriteFrames(const StackFrames& frames) {
    if (frames.empty()) return;
    io_.Message("stack_frame_index", true, [&](const auto& part) {
      for (const std::string& name : frames.file_names) part.AddText("file_names", name);
      for (const std::string& name : frames.function_names) part.AddText("function_names", name);
      part.Each("file_locations", frames.locations,
                [](const auto& entry, const StackFrames::Location& location) {
                  entry.Set("file_name_id", location.file_name_id);
                  entry.Set("function_name_id", location.function_name_id);
                  entry.Set("line", location.line);
                  entry.Set("end_line", location.end_line);
                  entry.Set("column", location.column);
                  entry.Set("end_column", location.end_column);
                });
      part.Each("stack_frames", frames.frames,
                [](const auto& entry, const StackFrames::Frame& frame) {
                  entry.Set("file_location_id", frame.location_id);
                  entry.Set("parent_frame_id", frame.parent_id);
                });
    });
  }

  void WriteSchedule(const std::vector<Computation*>& order) {
    io_.Message("schedule", true, [&](const auto& part) {
      for (const Computation* computation : order) {
        if (!computation->has_schedule()) continue;
        const FieldWriter entry(*part.AddMessage("sequences"));
        entry.Set("key", ids_.at(computation));
        std::vector<int64_t> sequence;
        for (const Instruction* instruction : computation->schedule())
          sequence.push_back(IdOf(instruction));
        entry.Message("value", true,
                      [&](const auto& value) { value.Ints("instruction_ids", sequence); });
      }
    });
  }

  absl::Status WriteRecoveryTable() {
    std::vector<RecoveryEntry> table = module_.config().recovery_table;
    if (table.empty()) return absl::OkStatus();
    absl::Status status;
    io_.Message("original_value_recovery_table", true, [&](const auto& part) {
      part.Each("entries", table, [&](const auto& entry, RecoveryEntry& recovery) {
        Part(entry, "old_original_array", recovery.old_array);
        Part(entry, "new_original_array", recovery.new_array);
        if (recovery.module_text.empty()) return;
        const absl::StatusOr<std::unique_ptr<Module>> inner = read_(recovery.module_text);
        status.Update(inner.ok() ? CheckNoneElided(**inner) : inner.status());
        if (!status.ok()) return;
        entry.Message("recovery_module", true, [&](const auto& module) {
          status.Update(ModuleWriter(**inner, module.message(), read_).Run());
        });
      });
    });
    return status;
  }

  const Module& module_;
  FieldWriter io_;
  TextReader read_;
  absl::flat_hash_map<const Computation*, int64_t> ids_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<google::protobuf::Message>> ToProto(const Module& module,
                                                                   TextReader read) {
  constexpr int64_t kMostDevices = 1 << 20;
  RETURN_IF_ERROR(CheckNoneElided(module));
  if (SaturatingMul(module.config().replica_count, module.config().num_partitions) > kMostDevices) {
    return Error("{} replicas of {} partitions are more than {} devices, which a message lists",
                 module.config().replica_count, module.config().num_partitions, kMostDevices);
  }
  std::unique_ptr<google::protobuf::Message> proto = NewProto("HloModuleProto");
  RETURN_IF_ERROR(ModuleWriter(module, *proto, read).Run());
  return proto;
}

}  // namespace hlo
