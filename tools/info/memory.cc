// Where most memory is needed, and what it holds then.
#include "lib/ir/source_line.h"
#include "lib/support/saturate.h"
#include "passes/pass_manager.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

std::string_view KindOf(ValueId id, const Values& values) {
  const Instruction& def = *values[id].def;
  if (def.IsConstant()) return "constant";
  if (def.opcode() == Opcode::kParameter && def.parent()->is_entry()) return "argument";
  return values[id].kind == Value::Kind::kLoopState ? "loop state" : "temporary";
}

// Names of values; those of one instruction come one after the other.
class ValueNames {
 public:
  explicit ValueNames(const Values& values) : values_(values) {}
  const std::string& Of(ValueId id) {
    if (values_[id].def != def_) {
      def_ = values_[id].def;
      names_ = NamesOfLeaves(*def_);
    }
    return names_[static_cast<size_t>(values_[id].leaf)];
  }

 private:
  const Values& values_;
  const Instruction* def_ = nullptr;
  std::vector<std::string> names_;  // of def_
};

}  // namespace

absl::StatusOr<const MemoryUse*> ModuleFacts::Memory() {
  if (memory_ != nullptr) return memory_.get();
  auto use = std::make_unique<MemoryUse>();
  use->was_scheduled = module_.is_scheduled();
  if (!use->was_scheduled) {
    PassContext context;
    Instrumentation instrumentation;
    instrumentation.verify_each = false;
    RETURN_IF_ERROR(
        RunPipelineText("hlo-memory-scheduler", module_, context, instrumentation).status());
  }
  use->values = std::make_unique<Values>(module_);
  use->ranges = std::make_unique<LiveRanges>(*use->values);
  use->peak = PeakOf(*use->values, *use->ranges);
  memory_ = std::move(use);
  return memory_.get();
}

absl::StatusOr<Section> MakeMemory(ModuleFacts& facts) {
  ASSIGN_OR_RETURN(const MemoryUse* use, facts.Memory());
  const Values& values = *use->values;
  const ProgramPeak& peak = use->peak;
  int64_t arguments = 0, constants = 0;
  Section section("memory");
  section.Column("value", Unit::kText).Column("kind", Unit::kText);
  section.Column("opcode", Unit::kText).Column("shape", Unit::kText);
  section.Column("bytes", Unit::kBytes).Column("share", Unit::kShare);
  section.Column("source", Unit::kText);
  ValueNames names(values);
  for (const ValueId id : peak.values) {
    const Instruction& def = *values[id].def;
    const int64_t bytes = values[id].shape.byte_size();
    const std::string_view kind = KindOf(id, values);
    arguments = SaturatingAdd(arguments, kind == "argument" ? bytes : 0);
    constants = SaturatingAdd(constants, kind == "constant" ? bytes : 0);
    section.Row({names.Of(id), kind, def.opcode_text(),
                 values[id].shape.ToString(/*with_layout=*/false), bytes,
                 static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(peak.bytes, 1)),
                 SourceLineOf(def)});
  }
  section.SortBy("bytes");
  section.Fact("peak_bytes", peak.bytes, Unit::kBytes);
  section.Fact("at", peak.at == nullptr ? Datum() : Datum(peak.at->name()), Unit::kText);
  section.Fact("at_source", peak.at == nullptr ? "" : SourceLineOf(*peak.at), Unit::kText);
  section.Fact("order", use->was_scheduled ? "the module's" : "hlo-memory-scheduler's",
               Unit::kText);
  section.Fact("arguments_then", arguments, Unit::kBytes);
  section.Fact("constants_then", constants, Unit::kBytes);
  section.Fact("temporaries_then", peak.bytes - arguments - constants, Unit::kBytes);
  return section;
}

}  // namespace hlo
