// What stands between `HloModule` and the first computation.
//
//   header      = 'HloModule' name { ',' ATTR value }
//   aliases     = '{' [ index ':' '(' INT ',' index [ ',' ( 'may-alias' | 'must-alias' ) ] ')' {
//               ',' … } [','] ] '}'
//                 and, as XLA documents it, `index ':' INT`
//   donors      = '{' [ '(' INT ',' index ')' { ',' … } [','] ] '}'
//   layout      = '{' '(' [ shape { ',' shape } [','] ] ')' '->' shape '}'
//   bools       = BOOL | '{' [ BOOL { ',' BOOL } ] '}'
//   recovery    = '{' { array ':' array [ ',' STR ] } '}'
//   debug       = '{' [ array ':' ( items | '(' [ items { ',' items } ] ')' ) { ',' … } ] '}'
//   items       = '{' item { ',' item } '}'
#include <algorithm>

#include "lib/ir/printer.h"
#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr std::string_view kAttributes[] = {"is_scheduled",
                                            "replica_count",
                                            "num_partitions",
                                            "input_output_alias",
                                            "buffer_donor",
                                            "alias_passthrough_params",
                                            "entry_computation_layout",
                                            "frontend_attributes",
                                            "allow_spmd_sharding_propagation_to_parameters",
                                            "allow_spmd_sharding_propagation_to_output",
                                            "origin_recovery_table",
                                            "debug_attributes"};

bool Less(const ShapeIndex& a, const ShapeIndex& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

bool Parser::ParseHeader() {
  lex_.Next();
  if (!IsNameToken()) return Unexpected("the name of the module");
  module_ = std::make_unique<Module>(std::string(token().text));
  lex_.Next();
  uint32_t seen = 0;
  while (Take(Tok::kComma)) {
    if (!Is(Tok::kAttr)) return Unexpected("the name of a module attribute and `=`");
    const std::string_view name = token().text;
    const SourceLoc loc = token().loc();
    const auto* found = std::find(std::begin(kAttributes), std::end(kAttributes), name);
    if (found == std::end(kAttributes))
      return Fail(loc, "a module has no attribute `{}`{}", name, DidYouMean(name, kAttributes));
    const auto index = static_cast<int>(found - kAttributes);
    if ((seen >> index & 1) != 0) return Fail(loc, "attribute `{}` is given twice", name);
    seen |= 1u << index;
    lex_.Next();
    if (!ParseHeaderAttribute(index)) return false;
  }
  return true;
}

bool Parser::ParseHeaderAttribute(int index) {
  ModuleConfig& config = module_->config();
  const auto bools = [&](std::vector<bool>& out) {
    std::vector<bool> values;
    if (!ReadBools(values)) return false;
    if (!values.empty()) out = std::move(values);  // an empty list leaves the default
    return true;
  };
  switch (index) {
    case 0: return ReadValue(scheduled_);
    case 1: return ReadValue(config.replica_count);
    case 2: return ReadValue(config.num_partitions);
    case 3: return ParseAliases();
    case 4: return ParseDonors();
    case 5: return ReadValue(config.alias_passthrough_params);
    case 6: return ParseEntryLayout();
    case 7: return ReadValue(config.frontend_attributes);
    case 8: return bools(config.allow_spmd_sharding_propagation_to_parameters);
    case 9: return bools(config.allow_spmd_sharding_propagation_to_output);
    case 10: return ParseRecoveryTable();
    default: return ParseDebugAttributes();
  }
}

bool Parser::ParseAliases() {
  static constexpr std::string_view kKinds[] = {"may-alias", "must-alias"};
  if (!Expect(Tok::kLBrace, "`{` of the aliases")) return false;
  std::vector<InputOutputAlias>& aliases = module_->config().aliases;
  while (!Is(Tok::kRBrace)) {
    InputOutputAlias alias;
    const SourceLoc loc = token().loc();
    if (!ReadShapeIndex(alias.output) || !Expect(Tok::kColon, "`:` after the output index"))
      return false;
    const SourceLoc parameter_loc = token().loc();
    if (Is(Tok::kInt)) {
      if (!ReadValue(alias.parameter)) return false;
    } else {
      if (!Expect(Tok::kLParen, "`(` in front of the parameter number") ||
          !ReadValue(alias.parameter) || !Expect(Tok::kComma, "`,` after the parameter number") ||
          !ReadShapeIndex(alias.parameter_index)) {
        return false;
      }
      if (Take(Tok::kComma)) {
        std::string kind;
        if (!ReadWord(kind, kKinds)) return false;
        alias.must_alias = kind == kKinds[1];
      }
      if (!Expect(Tok::kRParen, "`)` at the end of an alias")) return false;
    }
    if (alias.parameter < 0)
      return Fail(parameter_loc, "parameter number {}, expected at least 0", alias.parameter);
    alias_locs_.push_back(loc);
    aliases.push_back(std::move(alias));
    if (!Take(Tok::kComma)) break;
  }
  return Expect(Tok::kRBrace, "`,` or `}` in the aliases");
}

bool Parser::ParseDonors() {
  if (!Expect(Tok::kLBrace, "`{` of the donors")) return false;
  std::vector<BufferDonor>& donors = module_->config().donors;
  while (!Is(Tok::kRBrace)) {
    BufferDonor donor;
    if (!Expect(Tok::kLParen, "`(` of a donor")) return false;
    const SourceLoc loc = token().loc();
    if (!ReadValue(donor.parameter)) return false;
    if (donor.parameter < 0)
      return Fail(loc, "parameter number {}, expected at least 0", donor.parameter);
    if (!Expect(Tok::kComma, "`,` after the parameter number") || !ReadShapeIndex(donor.index) ||
        !Expect(Tok::kRParen, "`)` at the end of a donor")) {
      return false;
    }
    donors.push_back(std::move(donor));
    if (!Take(Tok::kComma)) break;
  }
  std::sort(donors.begin(), donors.end(), [](const BufferDonor& a, const BufferDonor& b) {
    return a.parameter != b.parameter ? a.parameter < b.parameter : Less(a.index, b.index);
  });
  donors.erase(std::unique(donors.begin(), donors.end()), donors.end());
  return Expect(Tok::kRBrace, "`,` or `}` in the donors");
}

bool Parser::ParseEntryLayout() {
  EntryLayout& layout = module_->config().entry_layout;
  has_entry_layout_ = true;
  const bool fill = options_.fill_missing_layouts;
  if (options_.keep_module_auto_layouts && fill) {
    // Read the shapes as they stand: what has been cached so far is filled.
    shapes_.clear();
    fill_layouts_ = false;
  }
  const bool ok = [&] {
    if (!Expect(Tok::kLBrace, "`{` of the entry layout") ||
        !Expect(Tok::kLParen, "`(` of the parameters"))
      return false;
    while (!Is(Tok::kRParen)) {
      if (!ParseShape(layout.parameters.emplace_back())) return false;
      if (!Take(Tok::kComma)) break;
    }
    return Expect(Tok::kRParen, "`,` or `)` in the entry layout") &&
           Expect(Tok::kArrow, "`->` and the result") && ParseShape(layout.result) &&
           Expect(Tok::kRBrace, "`}` at the end of the entry layout");
  }();
  if (fill_layouts_ != fill) {
    shapes_.clear();
    fill_layouts_ = fill;
  }
  return ok;
}

bool Parser::ReadBools(std::vector<bool>& out) {
  out.clear();
  if (Is(Tok::kLBrace)) return ReadValue(out);
  bool value;
  if (!ReadValue(value)) return false;
  out.push_back(value);
  return true;
}

bool Parser::ParseRecoveryTable() {
  if (!Expect(Tok::kLBrace, "`{` of the recovery table")) return false;
  std::vector<RecoveryEntry>& table = module_->config().recovery_table;
  while (!Is(Tok::kRBrace)) {
    RecoveryEntry entry;
    if (!ReadOriginalArray(entry.old_array) ||
        !Expect(Tok::kColon, "`:` between two original arrays") ||
        !ReadOriginalArray(entry.new_array)) {
      return false;
    }
    if (Take(Tok::kComma)) {
      const SourceLoc loc = token().loc();
      std::string text;
      if (!ReadValue(text)) return false;
      const absl::StatusOr<std::unique_ptr<Module>> inner =
          ParseModule(text, "origin_recovery_table");
      if (!inner.ok()) {
        return Fail(loc, "the module in the recovery table does not parse: {}",
                    DiagnosticsOf(inner.status()).front().message);
      }
      entry.module_text = ToText(**inner, PrintOptions::Default());
    }
    table.push_back(std::move(entry));
  }
  std::stable_sort(table.begin(), table.end(), [](const RecoveryEntry& a, const RecoveryEntry& b) {
    return a.old_array < b.old_array;
  });
  const auto same = [](const RecoveryEntry& a, const RecoveryEntry& b) {
    return a.old_array == b.old_array;
  };
  table.erase(std::unique(table.begin(), table.end(), same), table.end());
  lex_.Next();  // `}`
  return true;
}

bool Parser::ParseDebugItems(DebugAttributes::Item& item) {
  static constexpr std::string_view kModes[] = {"default", "fusion_debugger"};
  if (!Expect(Tok::kLBrace, "`{` of debug attributes")) return false;
  do {
    if (!Is(Tok::kAttr))
      return Unexpected("`log_mode=`, `callback_id=`, `partitioned=` or `op_id=`");
    const Token name = token();
    lex_.Next();
    bool ok = false;
    if (name.text == "log_mode") {
      std::string mode;
      ok = ReadWord(mode, kModes);
      item.has_log_mode = true;
      item.fusion_debugger = mode == kModes[1];
    } else if (name.text == "callback_id") {
      ok = ReadValue(item.callback_id);
    } else if (name.text == "partitioned") {
      ok = ReadValue(item.partitioned);
    } else if (name.text == "op_id") {
      ok = ReadValue(item.op_id);
    } else {
      return Fail(name.loc(),
                  "debug attributes have no `{}`; expected `log_mode`, `callback_id`, "
                  "`partitioned` or `op_id`",
                  name.text);
    }
    if (!ok) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in debug attributes");
}

bool Parser::ParseDebugAttributes() {
  if (!Expect(Tok::kLBrace, "`{` of the debug attributes")) return false;
  std::vector<DebugAttributes>& table = module_->config().debug_attributes;
  while (!Is(Tok::kRBrace)) {
    DebugAttributes& entry = table.emplace_back();
    if (!ReadOriginalArray(entry.array) || !Expect(Tok::kColon, "`:` after an original array"))
      return false;
    if (Take(Tok::kLParen)) {
      if (!Is(Tok::kRParen)) {
        do {
          if (!ParseDebugItems(entry.items.emplace_back())) return false;
        } while (Take(Tok::kComma));
      }
      if (!Expect(Tok::kRParen, "`,` or `)` in debug attributes")) return false;
    } else if (!ParseDebugItems(entry.items.emplace_back())) {
      return false;
    }
    if (!Take(Tok::kComma)) break;
  }
  return Expect(Tok::kRBrace, "`,` or `}` in the debug attributes");
}

// ---- checks that need the entry computation ----

bool Parser::CheckAliases() {
  std::vector<InputOutputAlias>& aliases = module_->config().aliases;
  const Shape result = module_->entry()->root()->shape();
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (!IndexIsValid(result, aliases[i].output)) {
      return Fail(alias_locs_[i],
                  "output index {} is not in the result `{}` of the entry computation",
                  ToString(aliases[i].output), result);
    }
  }
  // The first of several aliases of one output wins.
  absl::flat_hash_map<std::string, size_t> first;
  for (size_t i = 0; options_.warnings != nullptr && i < aliases.size(); ++i) {
    if (!first.try_emplace(ToString(aliases[i].output), i).second)
      Warn(alias_locs_[i], "a second alias of output {}; the first one counts",
           ToString(aliases[i].output));
  }
  std::stable_sort(aliases.begin(), aliases.end(),
                   [](const InputOutputAlias& a, const InputOutputAlias& b) {
                     return Less(a.output, b.output);
                   });
  const auto same = [](const InputOutputAlias& a, const InputOutputAlias& b) {
    return a.output == b.output;
  };
  aliases.erase(std::unique(aliases.begin(), aliases.end(), same), aliases.end());
  return true;
}

}  // namespace hlo
