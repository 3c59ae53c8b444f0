#include "lib/ir/print_extras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "lib/ir/instruction.h"
#include "lib/ir/module.h"
#include "lib/ir/source_line.h"
#include "lib/ops/attr_print.h"
#include "lib/support/strings.h"
#include "lib/types/append.h"

namespace hlo {
namespace {

// The end of the JSON dict that starts at text[at] == '{', or npos.
size_t JsonDictEnd(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    switch (text[at]) {
      case '{': ++depth; break;
      case '}':
        if (--depth == 0) return at + 1;
        break;
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) {
          if (text[at] == '\\') ++at;
        }
        if (at >= text.size()) return std::string_view::npos;
        break;
      default: break;
    }
  }
  return std::string_view::npos;
}

void AppendDictOrQuoted(std::string_view text, std::string& out) {
  if (LooksLikeJsonDict(text)) {
    out += text;
  } else {
    out += '"';
    out += CEscape(text);
    out += '"';
  }
}

void AppendOriginNode(const OriginalValue::Node& node, std::string& out) {
  if (!node.is_tuple) {
    if (node.leaf.name.empty()) {
      out += "{}";
    } else {
      AppendOriginalArray(node.leaf, out);
    }
    return;
  }
  out += '(';
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) out += ", ";
    AppendOriginNode(node.children[i], out);
  }
  out += ')';
}

void AppendMetadata(const OpMetadata& metadata, const Module& module, const PrintOptions& options,
                    std::string& out) {
  if (options.metadata_only_op_name) {
    if (!metadata.op_name.empty())
      out += ", metadata={" + metadata.ToString(/*op_name_only=*/true) + "}";
    return;
  }
  if (!metadata.IsPrintable()) return;
  const StackFrames& frames = module.config().stack_frames;
  const StackFrames::Location* const place =
      options.inline_stack_frames ? LocationOfFrame(frames, metadata.stack_frame_id) : nullptr;
  if (place != nullptr) {
    OpMetadata inlined = metadata;
    inlined.stack_frame_id = 0;
    if (const std::string_view file = FileOf(frames, *place); !file.empty())
      inlined.source_file = file;
    inlined.source_line = place->line;
    inlined.source_end_line = place->end_line;
    inlined.source_column = place->column;
    inlined.source_end_column = place->end_column;
    out += ", metadata={" + inlined.ToString() + "}";
    return;
  }
  out += ", metadata={";
  metadata.AppendTo(out);
  out += '}';
}

}  // namespace

bool LooksLikeJsonDict(std::string_view text) {
  if (text.empty() || text.front() != '{') return false;
  return JsonDictEnd(text, 0) == text.size();
}

void AppendFrontendAttributes(const FrontendAttributes& attributes, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : attributes) {
    if (!first) out += ',';
    first = false;
    out += key;
    out += '=';
    AppendDictOrQuoted(value, out);
  }
  out += '}';
}

void AppendOriginalArray(const OriginalArray& array, std::string& out) {
  out += '{';
  AppendQuotedRaw(array.name, out);
  if (!array.index.empty()) {
    out += ' ';
    out += ToString(array.index);
  }
  out += '}';
}

namespace {

// Whether the sharding prints without its mesh.
bool IsWhole(const NamedSharding& sharding) {
  if (!sharding.mesh.has_default_order() || !sharding.dims.empty()) return false;
  return sharding.IsUnreduced() || (sharding.replicated.empty() && sharding.IsReplicated());
}

bool NeedsReadableForm(const Sharding& sharding) {
  return std::any_of(sharding.leaves.begin(), sharding.leaves.end(), [](const auto& leaf) {
    const auto* tiled = std::get_if<TiledSharding>(&leaf);
    return tiled != nullptr ? tiled->kind == TiledSharding::Kind::kUnreduced
                            : IsWhole(std::get<NamedSharding>(leaf));
  });
}

}  // namespace

Sharding ReadableSharding(Sharding sharding, bool with_metadata) {
  using Kind = TiledSharding::Kind;
  for (Sharding::Leaf& leaf : sharding.leaves) {
    const auto* named = std::get_if<NamedSharding>(&leaf);
    const auto* tiled = std::get_if<TiledSharding>(&leaf);
    if (named != nullptr && with_metadata && IsWhole(*named)) {
      TiledSharding plain;
      const bool replicated = named->unreduced.empty();
      plain.kind = replicated ? Kind::kReplicated : Kind::kUnreduced;
      if (!replicated) plain.reduction = named->unreduced_kind;
      plain.metadata = named->metadata;
      leaf = std::move(plain);
    } else if (tiled != nullptr && !with_metadata && tiled->kind == Kind::kUnreduced &&
               tiled->group_kind == ShardGroupKind::kNone &&
               tiled->reduction != ReductionKind::kSum) {
      NamedSharding whole;
      whole.mesh.axes = {{"a", 1}};
      whole.unreduced = {AxisRef{0}};
      whole.unreduced_kind = tiled->reduction;
      leaf = std::move(whole);
    }
  }
  return sharding;
}

namespace {

// An element taken out of a tuple that was just made is what was put in.
const OriginalValue* OriginOfElement(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kGetTupleElement) {
    const Instruction* tuple = instruction->operand(0);
    const int64_t index = instruction->tuple_index();
    if (tuple->opcode() != Opcode::kTuple || index < 0 || index >= tuple->operand_count())
      return nullptr;
    instruction = tuple->operand(static_cast<int>(index));
    const Extras* extras = instruction->extras();
    if (extras != nullptr && extras->origin) return &*extras->origin;
  }
  return nullptr;
}

}  // namespace

void AppendExtras(const Instruction& instruction, const PrintOptions& options, std::string& out) {
  const Extras* extras = instruction.extras();
  if (extras == nullptr || !extras->origin) {
    if (const OriginalValue* origin = OriginOfElement(&instruction)) {
      Extras with_origin;
      if (extras != nullptr) with_origin = *extras;
      with_origin.origin = *origin;
      return AppendExtras(with_origin, instruction.module(), options, out);
    }
  }
  if (extras != nullptr) AppendExtras(*extras, instruction.module(), options, out);
}

void AppendExtras(const Extras& extras, const Module& module, const PrintOptions& options,
                  std::string& out) {
  if (extras.sharding) {
    out += ", sharding=";
    if (options.lossless && NeedsReadableForm(*extras.sharding)) {
      ReadableSharding(*extras.sharding, options.metadata).AppendTo(out, options.metadata);
    } else {
      extras.sharding->AppendTo(out, options.metadata);
    }
  }
  if (!extras.frontend_attributes.empty()) {
    out += ", frontend_attributes=";
    AppendFrontendAttributes(extras.frontend_attributes, out);
  }
  if (options.control_dependencies && extras.control && !extras.control->predecessors.empty()) {
    out += ", control-predecessors={";
    const std::vector<Instruction*>& predecessors = extras.control->predecessors;
    for (size_t i = 0; i < predecessors.size(); ++i) {
      if (i > 0) out += ", ";
      if (options.percent) out += '%';
      const std::string_view name = predecessors[i]->name();
      out += options.ids ? name : name.substr(0, name.find('.'));
    }
    out += '}';
  }
  if (extras.statistics && !extras.statistics->values.empty()) {
    out += fmt::format(", statistics={{visualizing_index={}", extras.statistics->visualizing_index);
    for (const auto& [name, value] : extras.statistics->values) {
      out += ',';
      out += name;
      out += '=';
      AppendValue(out, value);
      // XLA reads `-0` as 0.
      if (options.lossless && value == 0 && std::signbit(value)) out += ".0";
    }
    out += '}';
  }
  if (extras.result_accuracy && !(*extras.result_accuracy == ResultAccuracy())) {
    const size_t start = out.size();
    out += ", result_accuracy=";
    AppendValue(out, *extras.result_accuracy);
    if (options.lossless) {
      for (size_t at = out.find("=-0", start); at != std::string::npos;
           at = out.find("=-0", at + 1))
        if (out[at + 3] == ',' || out[at + 3] == '}') out.insert(at + 3, ".0");
    }
  }
  if (extras.origin) {
    out += ", origin={";
    if (extras.origin->synthetic_call) {
      out += "[synthetic_call]";
    } else {
      AppendOriginNode(extras.origin->tree, out);
    }
    out += '}';
  }
  if (options.metadata) AppendMetadata(extras.metadata, module, options, out);
  if (options.backend_config && !extras.backend_config.empty()) {
    out += ", backend_config=";
    if (options.sort_backend_config && LooksLikeJsonDict(extras.backend_config)) {
      out += SortJson(extras.backend_config);
    } else {
      AppendDictOrQuoted(extras.backend_config, out);
    }
  }
}

namespace {

void AppendAliases(const std::vector<InputOutputAlias>& aliases, std::string& out) {
  out += ", input_output_alias={ ";
  for (size_t i = 0; i < aliases.size(); ++i) {
    const InputOutputAlias& alias = aliases[i];
    if (i > 0) out += ", ";
    out +=
        fmt::format("{}: ({}, {}, {})", ToString(alias.output), alias.parameter,
                    ToString(alias.parameter_index), alias.must_alias ? "must-alias" : "may-alias");
  }
  out += " }";
}

void AppendDonors(const std::vector<BufferDonor>& donors, std::string& out) {
  out += ", buffer_donor={ ";
  for (size_t i = 0; i < donors.size(); ++i) {
    if (i > 0) out += ", ";
    out += fmt::format("({}, {})", donors[i].parameter, ToString(donors[i].index));
  }
  out += " }";
}

void AppendEntryLayout(const EntryLayout& layout, std::string& out) {
  out += ", entry_computation_layout={(";
  for (size_t i = 0; i < layout.parameters.size(); ++i) {
    if (i > 0) out += ", ";
    if (i > 0 && i % 5 == 0) out += fmt::format("/*index={}*/", i);
    layout.parameters[i].AppendTo(out);
  }
  out += ")->";
  layout.result.AppendTo(out);
  out += '}';
}

void AppendBoolList(std::string_view name, const std::vector<bool>& values, std::string& out) {
  // {false} is the default.
  if (values.empty() || (values.size() == 1 && !values[0])) return;
  out += ", ";
  out += name;
  out += '=';
  AppendValue(out, values);
}

void AppendRecoveryTable(const std::vector<RecoveryEntry>& table, bool lossless, std::string& out) {
  out += ", origin_recovery_table={\n";
  for (const RecoveryEntry& entry : table) {
    out += "  ";
    AppendOriginalArray(entry.old_array, out);
    out += " : ";
    AppendOriginalArray(entry.new_array, out);
    if (!entry.module_text.empty()) {
      out += ",\n  \"\n";
      for (const std::string_view line : Split(entry.module_text, '\n')) {
        if (!line.empty()) out += "    ";
        // XLA writes the text as it stands, which ends the string at a quote.
        for (const char c : line) {
          if (lossless && (c == '"' || c == '\\')) out += '\\';
          out += c;
        }
        out += '\n';
      }
      out += "  \"";
    }
    out += '\n';
  }
  out += "}\n";
}

void AppendDebugAttributes(const std::vector<DebugAttributes>& table, std::string& out) {
  out += ",\ndebug_attributes={\n";
  for (size_t i = 0; i < table.size(); ++i) {
    if (i > 0) out += ",\n";
    out += "  ";
    AppendOriginalArray(table[i].array, out);
    out += ":(";
    for (size_t k = 0; k < table[i].items.size(); ++k) {
      const DebugAttributes::Item& item = table[i].items[k];
      if (k > 0) out += ", ";
      std::vector<std::string> fields;
      if (item.has_log_mode)
        fields.push_back(item.fusion_debugger ? "log_mode=fusion_debugger" : "log_mode=default");
      if (item.callback_id) fields.push_back(fmt::format("callback_id={}", *item.callback_id));
      if (item.partitioned) fields.push_back(fmt::format("partitioned={}", *item.partitioned));
      if (item.op_id) fields.push_back(fmt::format("op_id={}", *item.op_id));
      out += "{" + Join(fields, ",") + "}";
    }
    out += ")";
  }
  out += "\n}";
}

void AppendStackFrames(const StackFrames& frames, std::string& out) {
  auto sink = std::back_inserter(out);
  out += "\n\nFileNames\n";
  for (size_t i = 0; i < frames.file_names.size(); ++i)
    fmt::format_to(sink, "{} \"{}\"\n", i + 1, CEscape(frames.file_names[i]));
  out += "\nFunctionNames\n";
  for (size_t i = 0; i < frames.function_names.size(); ++i) {
    fmt::format_to(sink, "{} \"{}\"\n", i + 1, CEscape(frames.function_names[i]));
  }
  out += "\nFileLocations\n";
  for (size_t i = 0; i < frames.locations.size(); ++i) {
    const StackFrames::Location& l = frames.locations[i];
    fmt::format_to(
        sink,
        "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}\n",
        i + 1, l.file_name_id, l.function_name_id, l.line, l.end_line, l.column, l.end_column);
  }
  out += "\nStackFrames\n";
  for (size_t i = 0; i < frames.frames.size(); ++i) {
    fmt::format_to(sink, "{} {{file_location_id={} parent_frame_id={}}}\n", i + 1,
                   frames.frames[i].location_id, frames.frames[i].parent_id + 1);
  }
}

}  // namespace

void AppendModuleHeader(const Module& module, const PrintOptions& options, std::string& out) {
  const ModuleConfig& config = module.config();
  if (module.is_scheduled()) out += ", is_scheduled=true";
  if (!config.aliases.empty()) AppendAliases(config.aliases, out);
  if (!config.donors.empty()) AppendDonors(config.donors, out);
  if (config.alias_passthrough_params) out += ", alias_passthrough_params=true";
  AppendEntryLayout(config.entry_layout, out);
  AppendBoolList("allow_spmd_sharding_propagation_to_parameters",
                 config.allow_spmd_sharding_propagation_to_parameters, out);
  AppendBoolList("allow_spmd_sharding_propagation_to_output",
                 config.allow_spmd_sharding_propagation_to_output, out);
  if (config.replica_count != 1) out += fmt::format(", replica_count={}", config.replica_count);
  if (config.num_partitions != 1) out += fmt::format(", num_partitions={}", config.num_partitions);
  if (!config.frontend_attributes.empty()) {
    out += ", frontend_attributes=";
    AppendFrontendAttributes(config.frontend_attributes, out);
  }
  if (!config.recovery_table.empty())
    AppendRecoveryTable(config.recovery_table, options.lossless, out);
  if (!config.debug_attributes.empty()) AppendDebugAttributes(config.debug_attributes, out);
  if (options.metadata && !config.stack_frames.frames.empty())
    AppendStackFrames(config.stack_frames, out);
  out += "\n\n";
}

namespace {

// A reader of JSON that writes it back with sorted keys and no blanks. Fails (returns false) on
// anything odd.
class JsonSorter {
 public:
  explicit JsonSorter(std::string_view text) : text_(text) {}
  bool Sort(std::string& out) {
    if (!Value(out)) return false;
    Blanks();
    return at_ == text_.size();
  }

 private:
  void Blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool Eat(char c) {
    Blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool String(std::string& out) {
    Blanks();
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    const size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    ++at_;
    out += text_.substr(start, at_ - start);
    return true;
  }
  bool Value(std::string& out) {
    if (++depth_ > 200) return false;
    Blanks();
    bool good;
    if (at_ < text_.size() && text_[at_] == '{') {
      good = Object(out);
    } else if (at_ < text_.size() && text_[at_] == '[') {
      good = List(out);
    } else if (at_ < text_.size() && text_[at_] == '"') {
      good = String(out);
    } else {
      const size_t end = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      good = end > at_;
      out += text_.substr(at_, end - at_);
      at_ = end;
    }
    --depth_;
    return good;
  }
  bool List(std::string& out) {
    Eat('[');
    out += '[';
    if (Eat(']')) return out += ']', true;
    do {
      if (!Value(out)) return false;
      out += ',';
    } while (Eat(','));
    out.back() = ']';
    return Eat(']');
  }
  bool Object(std::string& out) {
    Eat('{');
    std::map<std::string, std::string> members;
    if (!Eat('}')) {
      do {
        std::string key, value;
        if (!String(key) || !Eat(':') || !Value(value)) return false;
        members[key] = value;
      } while (Eat(','));
      if (!Eat('}')) return false;
    }
    out += '{';
    bool first = true;
    for (const auto& [key, value] : members) {
      if (!first) out += ',';
      first = false;
      out += key + ":" + value;
    }
    out += '}';
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string SortJson(std::string_view text) {
  std::string out;
  return JsonSorter(text).Sort(out) ? out : std::string(text);
}

}  // namespace hlo
