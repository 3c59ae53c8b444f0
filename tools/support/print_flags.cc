// --print-style and the --print-… flags: XLA's print options under XLA's names.
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

struct BoolOption {
  const char* names;  // ours, then XLA's where it differs
  bool PrintOptions::*member;
};

constexpr BoolOption kBoolOptions[] = {
    {"print-large-constants", &PrintOptions::large_constants},
    {"print-only-essential-constants", &PrintOptions::only_essential_constants},
    {"print-metadata", &PrintOptions::metadata},
    {"print-metadata-only-op-name", &PrintOptions::metadata_only_op_name},
    {"print-backend-config", &PrintOptions::backend_config},
    {"print-infeed-outfeed-config", &PrintOptions::infeed_outfeed_config},
    {"print-operand-shape", &PrintOptions::operand_shape},
    {"print-operand-names", &PrintOptions::operand_names},
    {"print-program-shape", &PrintOptions::program_shape},
    {"print-percent", &PrintOptions::percent},
    {"print-control-dependencies", &PrintOptions::control_dependencies},
    {"print-result-shape", &PrintOptions::result_shape},
    {"include-layout-in-shapes,print-layouts", &PrintOptions::layouts},
    {"print-ids", &PrintOptions::ids},
    {"canonicalize-instruction-names", &PrintOptions::canonical_instruction_names},
    {"canonicalize-computations", &PrintOptions::canonical_computations},
    {"print-extra-attributes", &PrintOptions::extra_attributes},
    {"syntax-sugar-async-ops", &PrintOptions::syntax_sugar_async_ops},
    {"print-compact-gte,compact-gte", &PrintOptions::compact_gte},
    {"print-full-replica-group-list", &PrintOptions::full_replica_group_lists},
    {"compact-operands", &PrintOptions::compact_operands},
    {"sort-backend-config", &PrintOptions::sort_backend_config},
    {"print-channel-id", &PrintOptions::channel_id},
    {"print-parameter-number", &PrintOptions::parameter_number},
    {"print-name-after-closing-brace", &PrintOptions::name_after_closing_brace},
    {"print-inline-stack-frames", &PrintOptions::inline_stack_frames},
};

std::string FirstName(std::string_view names) {
  return std::string(names.substr(0, names.find(',')));
}

absl::StatusOr<PrintOptions> StyleOptions(std::string_view style) {
  if (style == "default") return PrintOptions::Default();
  if (style == "short") return PrintOptions::ShortParsable();
  if (style == "canonical") return PrintOptions::Canonical();
  if (style == "fingerprint") return PrintOptions::Fingerprint();
  if (style == "hlo-opt") return PrintOptions::HloOpt();
  constexpr std::string_view kStyles[] = {"default", "short", "canonical", "fingerprint",
                                          "hlo-opt"};
  return Error("unknown print style `{}`{}; there are {}", style, DidYouMean(style, kStyles),
               Join(kStyles, ", "));
}

}  // namespace

void PrintFlags::AddTo(Flags& flags) {
  flags.Add("print-style", &style_, "STYLE",
            "default (as XLA), short, canonical, fingerprint, hlo-opt");
  for (const BoolOption& option : kBoolOptions) {
    const bool listed = option.member == &PrintOptions::large_constants;
    flags.Add(option.names, &(given_.*option.member),
              listed ? "constants of more than 10 elements in full" : "");
  }
  flags.Add("print-subcomputation-mode", &subcomputations_, "MODE");
  flags.Add("operand-index-annotation-interval", &index_interval_);
  flags.Note(
      "more, on or off with --no-: --print-metadata --print-percent --print-operand-shape "
      "--print-ids");
  flags.Note(
      "--print-operand-names --print-result-shape --print-program-shape "
      "--print-control-dependencies");
  flags.Note(
      "--print-backend-config --print-extra-attributes --print-channel-id "
      "--include-layout-in-shapes");
  flags.Note(
      "--syntax-sugar-async-ops --compact-gte --canonicalize-{instruction-names,computations}");
}

absl::StatusOr<PrintOptions> PrintFlags::Options(const Flags& flags, bool to_file) const {
  ASSIGN_OR_RETURN(PrintOptions options, StyleOptions(style_));
  if (to_file) options.large_constants = true;
  for (const BoolOption& option : kBoolOptions) {
    if (flags.given(FirstName(option.names))) options.*option.member = given_.*option.member;
  }
  if (flags.given("operand-index-annotation-interval"))
    options.operand_index_interval = static_cast<int>(index_interval_);
  if (flags.given("print-subcomputation-mode")) {
    using Mode = PrintOptions::Subcomputations;
    if (subcomputations_ == "names") {
      options.subcomputations = Mode::kNames;
    } else if (subcomputations_ == "full-bodies" || subcomputations_ == "full_bodies") {
      options.subcomputations = Mode::kFullBodies;
    } else if (subcomputations_ == "non-sequential-bodies" ||
               subcomputations_ == "non_sequential_bodies") {
      options.subcomputations = Mode::kNonSequentialBodies;
    } else if (subcomputations_ == "off") {
      options.subcomputations = Mode::kOff;
    } else {
      return Error(
          "`--print-subcomputation-mode` expects names, full-bodies, non-sequential-bodies or off, "
          "found `{}`",
          subcomputations_);
    }
  }
  return options;
}

}  // namespace hlo
