// --print-style and one flag per print option, under XLA's names.
//
// A flag is a row of a table: names, member, what it says in the help. `-` and `_` are the same in
// names; `--print_ids`, `--print_ids=false`, `--noprint_ids` and `--no-print-ids` all work
// (flags.h).
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

struct BoolOption {
  const char* names;  // the first is XLA's print option, the others are its debug options
  bool PrintOptions::*member;
  const char* help;
};

constexpr BoolOption kBoolOptions[] = {
    {"print-large-constants,xla-dump-large-constants", &PrintOptions::large_constants,
     "constants of more than 10 elements in full"},
    {"print-only-essential-constants", &PrintOptions::only_essential_constants,
     "zeros, ones and integers; others as {...}"},
    {"print-metadata", &PrintOptions::metadata, "metadata and stack frames"},
    {"print-metadata-only-op-name", &PrintOptions::metadata_only_op_name,
     "of metadata only op_name"},
    {"print-backend-config", &PrintOptions::backend_config, "backend_config"},
    {"sort-backend-config", &PrintOptions::sort_backend_config,
     "JSON with sorted keys, without blanks"},
    {"print-infeed-outfeed-config", &PrintOptions::infeed_outfeed_config,
     "infeed_config, outfeed_config"},
    {"print-operand-shape", &PrintOptions::operand_shape, "the shape in front of each operand"},
    {"print-operand-names", &PrintOptions::operand_names, "the names of operands"},
    {"compact-operands", &PrintOptions::compact_operands, "four operands and how many follow"},
    {"print-result-shape", &PrintOptions::result_shape, "the shape of each instruction"},
    {"include-layout-in-shapes,print-layouts", &PrintOptions::layouts, "layouts in shapes"},
    {"print-program-shape", &PrintOptions::program_shape, "signatures of computations"},
    {"print-percent", &PrintOptions::percent, "% in front of names"},
    {"print-ids", &PrintOptions::ids, "names of module and computations, numbers in names"},
    {"print-control-dependencies", &PrintOptions::control_dependencies, "control-predecessors"},
    {"print-extra-attributes", &PrintOptions::extra_attributes, "the attributes of the opcode"},
    {"print-channel-id", &PrintOptions::channel_id, "channel ids; off: channel_id=_"},
    {"print-parameter-number", &PrintOptions::parameter_number, "numbers of parameters"},
    {"print-full-replica-group-list", &PrintOptions::full_replica_group_lists,
     "replica groups as lists, always"},
    {"print-replica-group-sub-axes", &PrintOptions::replica_group_sub_axes,
     "off: groups over parts of mesh axes as lists"},
    {"canonicalize-instruction-names", &PrintOptions::canonical_instruction_names,
     "tmp_0, tmp_1, ... instead of names"},
    {"canonicalize-computations", &PrintOptions::canonical_computations,
     "computations in the order of the module"},
    {"syntax-sugar-async-ops,xla-syntax-sugar-async-ops,async-sugar",
     &PrintOptions::syntax_sugar_async_ops, "slice-start for async-start of a slice"},
    {"lossless", &PrintOptions::lossless, "text that reads back where XLA's does not (default on)"},
    {"compact-gte,print-compact-gte,xla-dump-compact-gte", &PrintOptions::compact_gte,
     "%t#0 for get-tuple-element(%t), index=0"},
    {"print-name-after-closing-brace", &PrintOptions::name_after_closing_brace,
     "} // name, of longer computations"},
    {"print-inline-stack-frames,xla-hlo-print-inline-stack-frames",
     &PrintOptions::inline_stack_frames, "places instead of stack_frame_id"},
    {"is-in-nested-computation", &PrintOptions::in_nested_computation,
     "computations without their names"},
};
static_assert(std::size(kBoolOptions) <= PrintFlags::kMaxBools);

struct Style {
  std::string_view name;
  PrintOptions (*make)();
};
constexpr Style kStyles[] = {{"default", PrintOptions::Default},
                             {"long", PrintOptions::Long},
                             {"short", PrintOptions::ShortParsable},
                             {"canonical", PrintOptions::Canonical},
                             {"fingerprint", PrintOptions::Fingerprint},
                             {"module-fingerprint", PrintOptions::ModuleFingerprint},
                             {"hlo-opt", PrintOptions::HloOpt}};

struct Mode {
  std::string_view name;
  std::string_view xla_name;
  PrintOptions::Subcomputations mode;
};
constexpr Mode kModes[] = {
    {"names", "knameonly", PrintOptions::Subcomputations::kNames},
    {"full-bodies", "kfullbodies", PrintOptions::Subcomputations::kFullBodies},
    {"non-sequential-bodies", "knonsequentialbodies",
     PrintOptions::Subcomputations::kNonSequentialBodies},
    {"off", "koff", PrintOptions::Subcomputations::kOff}};

std::string FirstName(std::string_view names) {
  return std::string(names.substr(0, names.find(',')));
}

// Lower case with dashes.
std::string Folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return out;
}

// A word of the table, in any case, or, where the rows have one, XLA's name of it.
template <class Row, size_t kCount>
FlagValues FoldedWord(const Row (&rows)[kCount]) {
  return FlagValues::Passing([&rows](const std::string& value) {
    const std::string word = Folded(value);
    std::vector<std::string_view> names;
    for (const Row& row : rows) {
      names.push_back(row.name);
      if (row.name == word) return std::string();
      if constexpr (requires { row.xla_name; }) {
        if (row.xla_name == word) return std::string();
      }
    }
    return FlagValues::Words(names).Mistake(value);
  });
}

}  // namespace

void PrintFlags::AddTo(Flags& flags) {
  flags.Add("print-style,print", &style_, FoldedWord(kStyles), "STYLE",
            "default (as XLA), long, short, canonical, fingerprint, hlo-opt");
  size_t i = 0;
  for (const BoolOption& option : kBoolOptions) flags.Add(option.names, &bools_[i++]);
  flags.Add("print-subcomputation-mode", &subcomputations_, FoldedWord(kModes), "MODE");
  flags.Add("print-operand-index-annotation-interval,operand-index-annotation-interval",
            &index_interval_, FlagValues::Between(0, 1000));
  flags.Add("indent-amount", &indent_, FlagValues::Between(0, 1000));
  flags.Add("xla-dump-hlo-as-long-text", &long_text_);
  flags.Add("xla-dump-disable-metadata", &no_metadata_);
  flags.Note(
      "--print-ids, --no-print-percent, ...: one flag per print option, which changes the style;");
  flags.Note("--list-print-options names them");
}

std::string PrintFlags::Table() {
  std::string out;
  const auto row = [&](std::string_view flag, std::string_view help) {
    out += fmt::format("--{:<46} {}\n", flag, help);
  };
  for (const BoolOption& option : kBoolOptions) row(FirstName(option.names), option.help);
  row("print-subcomputation-mode=MODE", "names, full-bodies, non-sequential-bodies, off");
  row("print-operand-index-annotation-interval=N", "/*index=N*/ at every Nth operand; 0: none");
  row("indent-amount=N", "levels of two blanks in front of each line");
  return out;
}

absl::StatusOr<PrintOptions> PrintFlags::Options(const Flags& flags, bool to_file) const {
  const std::string style =
      Folded(flags.given("xla-dump-hlo-as-long-text") && !long_text_ && !flags.given("print-style")
                 ? "short"
                 : style_);
  PrintOptions options;
  const Style* found = nullptr;
  for (const Style& row : kStyles) {
    if (row.name == style) found = &row;
  }
  RET_CHECK(found != nullptr, "style `{}`", style_);
  options = found->make();
  if (to_file) options.large_constants = true;
  options.lossless = true;
  if (flags.given("xla-dump-disable-metadata")) options.metadata = !no_metadata_;
  size_t i = 0;
  for (const BoolOption& option : kBoolOptions) {
    if (flags.given(FirstName(option.names))) options.*option.member = bools_[i];
    ++i;
  }
  for (const auto& [name, value, member] :
       {std::tuple("print-operand-index-annotation-interval", index_interval_,
                   &PrintOptions::operand_index_interval),
        std::tuple("indent-amount", indent_, &PrintOptions::indent)}) {
    if (!flags.given(name)) continue;
    options.*member = static_cast<int>(value);
  }
  if (flags.given("print-subcomputation-mode")) {
    const std::string word = Folded(subcomputations_);
    const Mode* mode = nullptr;
    for (const Mode& row : kModes) {
      if (row.name == word || row.xla_name == word) mode = &row;
    }
    RET_CHECK(mode != nullptr, "mode `{}`", subcomputations_);
    options.subcomputations = mode->mode;
  }
  return options;
}

}  // namespace hlo
