#include "absl/container/flat_hash_map.h"
#include "lib/ir/printer.h"
#include "lib/ops/opcode_groups.h"
#include "lib/proto/attrs.h"
#include "lib/proto/proto.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

using internal::FieldReader;

template <class A>
AttrsPtr ReadAttrs(const FieldReader& io) {
  A attrs;
  Map(io, attrs);
  if constexpr (std::is_same_v<A, NoAttrs>) return AttrsPtr();
  return AttrsPtr::Make(std::move(attrs));
}

AttrsPtr ReadOwnAttributes(const FieldReader& io, Opcode opcode) {
  using Reader = AttrsPtr (*)(const FieldReader&);
  static constexpr Reader kReaders[] = {
#define HLO_OP(Name, text, operands, calls, attributes, ...) &ReadAttrs<attributes>,
#include "lib/ops/ops.def"
  };
  return kReaders[static_cast<size_t>(opcode)](io);
}

// Steps of an asynchronous operation have what the start says of it in their messages, too.
bool RepeatsStart(Opcode opcode) { return kAsyncSteps.Has(opcode); }

class ModuleReader {
 public:
  explicit ModuleReader(const google::protobuf::Message& proto) : io_(proto, problem_) {}

  absl::StatusOr<std::unique_ptr<Module>> Run() {
    std::string name;
    io_.Text("name", name);
    module_ = std::make_unique<Module>(name.empty() ? "module" : name);
    for (int i = 0; i < io_.Count("computations"); ++i)
      RETURN_IF_ERROR(ReadComputation(io_.Item("computations", i)));
    const auto entry = computations_.find(io_.Get("entry_computation_id"));
    if (entry != computations_.end()) {
      module_->set_entry(entry->second);
    } else {
      std::string entry_name;
      io_.Text("entry_computation_name", entry_name);
      module_->set_entry(module_->FindComputation(entry_name));
    }
    if (module_->entry() == nullptr) return Error("the message names no entry computation");
    if (!module_->entry()->callers().empty()) return Error("the entry computation is called");
    ReadConfig();
    if (io_.Has("schedule")) RETURN_IF_ERROR(ReadSchedule(io_.Sub("schedule")));
    RETURN_IF_ERROR(ReadRecoveryTable());
    if (!problem_.empty()) return Error("{}", problem_);
    module_->UniquifyNames();
    return std::move(module_);
  }

 private:
  using InstructionsById = absl::flat_hash_map<int64_t, Instruction*>;

  absl::Status ReadComputation(const FieldReader& io) {
    std::string name, thread;
    io.Text("name", name);
    io.Text("execution_thread", thread);
    Computation* computation = module_->AddComputationVerbatim(
        module_->Intern(IsSanitizedName(name) ? name : SanitizeName(name)));
    if (!thread.empty()) computation->set_execution_thread(thread);
    InstructionsById& by_id = instructions_[computation];
    const int count = io.Count("instructions");
    if (count == 0) return Error("computation `{}` has no instructions", name);
    for (int i = 0; i < count; ++i) {
      const FieldReader item = io.Item("instructions", i);
      absl::Status status = ReadInstruction(item, *computation, by_id, count);
      if (status.ok() && !problem_.empty()) status = Error("{}", problem_);
      if (status.ok()) continue;
      std::string instruction;
      item.Text("name", instruction);
      return Error("instruction `{}` of computation `{}`: {}", instruction, name,
                   ToStd(status.message()));
    }
    const auto root = by_id.find(io.Get("root_id"));
    if (root == by_id.end()) return Error("computation `{}` has no root", name);
    computation->set_root(root->second);
    for (int i = 0; i < computation->parameter_count(); ++i) {
      if (computation->parameter(i) == nullptr)
        return Error("computation `{}` has no parameter {}", name, i);
    }
    if (!computations_.emplace(io.Get("id"), computation).second)
      return Error("a second computation has the id {}", io.Get("id"));
    return absl::OkStatus();
  }

  absl::Status ReadInstruction(const FieldReader& io, Computation& computation,
                               InstructionsById& by_id, int count) {
    std::string opcode_text, name;
    io.Text("opcode", opcode_text);
    io.Text("name", name);
    const std::optional<Opcode> opcode = OpcodeFromText(opcode_text);
    if (!opcode) return Error("`{}` is no opcode{}", opcode_text, SuggestOpcode(opcode_text));
    if (!io.Has("shape")) return Error("it has no shape");
    const Shape shape = internal::ReadShape(io.Sub("shape"));
    std::vector<int64_t> ids;
    std::vector<Instruction*> operands, predecessors;
    const auto find_all = [&](const char* field, std::vector<Instruction*>& out) {
      io.Ints(field, ids);
      for (const int64_t id : ids) {
        const auto found = by_id.find(id);
        if (found == by_id.end())
          return Error("no instruction above it in its computation has the id {} (`{}`)", id,
                       field);
        out.push_back(found->second);
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(find_all("operand_ids", operands));
    RETURN_IF_ERROR(find_all("control_predecessor_ids", predecessors));
    RETURN_IF_ERROR(CheckOperandCount(*opcode, static_cast<int>(operands.size())));
    std::vector<Computation*> calls;
    if (!RepeatsStart(*opcode)) {
      io.Ints("called_computation_ids", ids);
      for (const int64_t id : ids) {
        const auto found = computations_.find(id);
        if (found == computations_.end())
          return Error("no computation above its own has the id {} (`called_computation_ids`)", id);
        calls.push_back(found->second);
      }
      const CallSpec& spec = Info(*opcode).calls;
      if (!spec.is_list && static_cast<int>(calls.size()) != spec.count) {
        return Error("`{}` calls {} computations, expected {}", opcode_text, calls.size(),
                     spec.count);
      }
      // A message has the body of a loop first.
      if (*opcode == Opcode::kWhile) std::swap(calls[0], calls[1]);
    }
    AttrsPtr attrs = ReadOwnAttributes(io, *opcode);
    if (!problem_.empty()) return absl::OkStatus();
    if (*opcode == Opcode::kParameter) {
      const int64_t number = attrs.Get<ParameterAttrs>().number;
      if (number < 0 || number >= count) return Error("parameter number {}", number);
      if (number < computation.parameter_count() &&
          computation.parameter(static_cast<int>(number)) != nullptr)
        return Error("a second parameter {}", number);
    }
    if (*opcode == Opcode::kConstant && !io.Has("literal")) return Error("it has no literal");
    if (!IsSanitizedName(name)) name = SanitizeName(name);
    Instruction* instruction = computation.AddVerbatim(*opcode, shape, operands, std::move(attrs),
                                                       calls, module_->Intern(name));
    for (Instruction* predecessor : predecessors) instruction->AddControlPredecessor(predecessor);
    ReadExtras(io, *instruction);
    if (!by_id.emplace(io.Get("id"), instruction).second)
      return Error("a second instruction has the id {}", io.Get("id"));
    return absl::OkStatus();
  }

  static void ReadExtras(const FieldReader& io, Instruction& instruction) {
    if (io.Has("metadata")) Part(io, "metadata", instruction.mutable_extras().metadata);
    if (io.Has("sharding")) OptionalPart(io, "sharding", instruction.mutable_extras().sharding);
    if (io.Has("frontend_attributes")) {
      FrontendAttributes attributes;
      Part(io, "frontend_attributes", attributes);
      if (!attributes.empty())
        instruction.mutable_extras().frontend_attributes = std::move(attributes);
    }
    std::string config;
    io.Text("backend_config", config);
    if (!config.empty()) instruction.mutable_extras().backend_config = std::move(config);
    if (io.Has("statistics_viz")) {
      Statistics statistics;
      Part(io, "statistics_viz", statistics);
      if (!statistics.values.empty())
        instruction.mutable_extras().statistics = std::move(statistics);
    }
    if (io.Has("original_value"))
      OptionalPart(io, "original_value", instruction.mutable_extras().origin);
    if (io.Has("result_accuracy")) {
      ResultAccuracy accuracy;
      Part(io, "result_accuracy", accuracy);
      if (accuracy != ResultAccuracy()) instruction.mutable_extras().result_accuracy = accuracy;
    }
  }

  void ReadConfig() {
    ModuleConfig& config = module_->config();
    module_->ResetEntryLayout();
    if (io_.Has("host_program_shape")) {
      const FieldReader shape = io_.Sub("host_program_shape");
      EntryLayout layout;
      Parts(shape, "parameters", layout.parameters);
      if (shape.Has("result")) layout.result = internal::ReadShape(shape.Sub("result"));
      const bool fits =
          layout.parameters.size() == config.entry_layout.parameters.size() && shape.Has("result");
      if (fits) config.entry_layout = std::move(layout);
    }
    if (io_.Has("input_output_alias")) {
      io_.Sub("input_output_alias")
          .Each("entries", config.aliases, [](const auto& entry, InputOutputAlias& alias) {
            entry.Ints("output_shape_index", alias.output);
            entry.Int("parameter_number", alias.parameter);
            entry.Ints("parameter_shape_index", alias.parameter_index);
            alias.must_alias = entry.Get("kind") == 2;
          });
    }
    if (io_.Has("buffer_donor")) {
      io_.Sub("buffer_donor").Each("entries", config.donors, [](const auto& entry, BufferDonor& d) {
        entry.Int("parameter_number", d.parameter);
        entry.Ints("parameter_shape_index", d.index);
      });
    }
    io_.Each("cross_program_prefetches", config.cross_program_prefetches,
             [](const auto& entry, CrossProgramPrefetch& prefetch) {
               entry.Int("parameter", prefetch.parameter);
               entry.Ints("index", prefetch.index);
               if (const int64_t offset = entry.Get("offset"); offset != 0)
                 prefetch.offset = offset;
             });
    OptionalPart(io_, "spmd_output_sharding", config.spmd_output_sharding);
    Parts(io_, "spmd_parameters_shardings", config.spmd_parameter_shardings);
    Part(io_, "frontend_attributes", config.frontend_attributes);
    if (io_.Has("device_assignment")) {
      const FieldReader devices = io_.Sub("device_assignment");
      config.replica_count = std::max<int64_t>(devices.Get("replica_count"), 1);
      config.num_partitions = std::max<int64_t>(devices.Get("computation_count"), 1);
    }
    if (io_.Has("stack_frame_index")) ReadFrames(io_.Sub("stack_frame_index"), config.stack_frames);
  }

  static void ReadFrames(const FieldReader& io, StackFrames& frames) {
    const google::protobuf::Message& message = io.message();
    const auto texts = [&](const char* name, std::vector<std::string>& out) {
      for (int i = 0; i < io.Count(name); ++i)
        out.push_back(message.GetReflection()->GetRepeatedString(
            message, internal::FieldOf(message, name), i));
    };
    texts("file_names", frames.file_names);
    texts("function_names", frames.function_names);
    io.Each("file_locations", frames.locations,
            [](const auto& entry, StackFrames::Location& location) {
              entry.Int("file_name_id", location.file_name_id);
              entry.Int("function_name_id", location.function_name_id);
              entry.Int("line", location.line);
              entry.Int("end_line", location.end_line);
              entry.Int("column", location.column);
              entry.Int("end_column", location.end_column);
            });
    io.Each("stack_frames", frames.frames, [](const auto& entry, StackFrames::Frame& frame) {
      entry.Int("file_location_id", frame.location_id);
      entry.Int("parent_frame_id", frame.parent_id);
    });
  }

  absl::Status ReadSchedule(const FieldReader& io) {
    for (int i = 0; i < io.Count("sequences"); ++i) {
      const FieldReader entry = io.Item("sequences", i);
      const auto computation = computations_.find(entry.Get("key"));
      if (computation == computations_.end())
        return Error("the schedule orders a computation {} that does not exist", entry.Get("key"));
      std::vector<int64_t> ids;
      if (entry.Has("value")) entry.Sub("value").Ints("instruction_ids", ids);
      std::vector<Instruction*> sequence;
      const InstructionsById& by_id = instructions_[computation->second];
      for (const int64_t id : ids) {
        const auto found = by_id.find(id);
        if (found == by_id.end())
          return Error("the schedule of `{}` names an instruction {} that does not exist",
                       computation->second->name(), id);
        sequence.push_back(found->second);
      }
      if (static_cast<int>(sequence.size()) != computation->second->instruction_count()) {
        return Error("the schedule of `{}` orders {} of {} instructions",
                     computation->second->name(), sequence.size(),
                     computation->second->instruction_count());
      }
      computation->second->set_schedule(std::move(sequence));
    }
    module_->set_scheduled(true);
    return absl::OkStatus();
  }

  absl::Status ReadRecoveryTable() {
    if (!io_.Has("original_value_recovery_table")) return absl::OkStatus();
    const FieldReader table = io_.Sub("original_value_recovery_table");
    for (int i = 0; i < table.Count("entries"); ++i) {
      const FieldReader entry = table.Item("entries", i);
      RecoveryEntry recovery;
      Part(entry, "old_original_array", recovery.old_array);
      Part(entry, "new_original_array", recovery.new_array);
      if (entry.Has("recovery_module")) {
        ASSIGN_OR_RETURN(const std::unique_ptr<Module> inner,
                         FromProto(entry.Sub("recovery_module").message()));
        recovery.module_text = ToText(*inner, PrintOptions::Default());
      }
      module_->config().recovery_table.push_back(std::move(recovery));
    }
    return absl::OkStatus();
  }

  std::string problem_;
  FieldReader io_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<int64_t, Computation*> computations_;
  absl::flat_hash_map<const Computation*, InstructionsById> instructions_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> FromProto(const google::protobuf::Message& proto) {
  return ModuleReader(proto).Run();
}

}  // namespace hlo
