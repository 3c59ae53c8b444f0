// Metadata, frontend attributes, statistics and origins.
//
//   metadata   = '{' { field '=' value [','] } '}'
//   frontend   = '{' [ ATTR ( STR | JSON ) { ',' … } ] '}'
//   statistics = '{' [ ATTR INT { ',' ATTR number } ] '}'
//   origin     = '{' ( '[' 'synthetic_call' ']' | tree ) '}'
//   tree       = '{' [ STR [ index ] ] '}' | '(' [ tree { ',' tree } ] ')'
#include <algorithm>

#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr std::string_view kFields[] = {"op_type",           "op_name",         "source_file",
                                        "source_line",       "source_end_line", "source_column",
                                        "source_end_column", "profile_type",    "deduplicated_name",
                                        "scheduling_name",   "stack_frame_id",  "metadata_payload"};

}  // namespace

bool Parser::ReadValue(OpMetadata& out) {
  if (!Expect(Tok::kLBrace, "`{` of metadata")) return false;
  uint32_t seen = 0;
  while (!Is(Tok::kRBrace)) {
    if (Take(Tok::kComma) && Is(Tok::kRBrace))
      return Unexpected("a metadata field after the comma");
    if (!Is(Tok::kAttr)) return Unexpected("a metadata field or `}`");
    const std::string_view name = token().text;
    const auto* found = std::find_if(std::begin(kFields), std::end(kFields),
                                     [&](std::string_view f) { return StringEqual()(f, name); });
    if (found == std::end(kFields)) {
      return Fail(token().loc(), "metadata has no field `{}`{}", name, DidYouMean(name, kFields));
    }
    const auto field = static_cast<uint32_t>(found - kFields);
    if ((seen >> field & 1) != 0) return Fail(token().loc(), "`{}` is given twice", name);
    seen |= 1u << field;
    lex_.Next();
    bool ok = false;
    switch (field) {
      case 0: ok = ReadValue(out.op_type); break;
      case 1: ok = ReadValue(out.op_name); break;
      case 2: ok = ReadValue(out.source_file); break;
      case 3: ok = ReadValue(out.source_line); break;
      case 4: ok = ReadValue(out.source_end_line); break;
      case 5: ok = ReadValue(out.source_column); break;
      case 6: ok = ReadValue(out.source_end_column); break;
      case 7: {
        const SourceLoc loc = token().loc();
        std::vector<int64_t> types;
        ok = ReadBracedInts(types);
        for (const int64_t type : types) {
          if (type < 0 || type > 3) return Fail(loc, "profile type {}, expected 0 to 3", type);
        }
        if (!types.empty()) out.profile_type = std::move(types);
        break;
      }
      case 8: ok = ReadValue(out.deduplicated_name); break;
      case 9: ok = ReadValue(out.scheduling_name); break;
      case 10: ok = ReadValue(out.stack_frame_id); break;
      default: ok = ReadValue(out.metadata_payload); break;
    }
    if (!ok) return false;
  }
  lex_.Next();
  return true;
}

bool Parser::ReadValue(FrontendAttributes& out) {
  if (!Expect(Tok::kLBrace, "`{` of frontend attributes")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!Is(Tok::kAttr)) return Unexpected("`name=`, without quotes or blanks");
    std::string key(token().text);
    lex_.Next();
    std::string value;
    if (!ReadStringOrDict(value)) return false;
    out.insert_or_assign(std::move(key), std::move(value));
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in frontend attributes");
}

bool Parser::ReadValue(Statistics& out) {
  if (!Expect(Tok::kLBrace, "`{` of statistics")) return false;
  if (Take(Tok::kRBrace)) return true;
  if (!Is(Tok::kAttr)) return Unexpected("`visualizing_index=`");
  lex_.Next();
  if (!ReadValue(out.visualizing_index)) return false;
  while (Take(Tok::kComma)) {
    if (!Is(Tok::kAttr)) return Unexpected("the name of a statistic");
    std::string name(token().text);
    lex_.Next();
    if (!Is(Tok::kInt) && !Is(Tok::kDec)) return Unexpected("a number");
    double value;
    if (!ReadDouble(value)) return false;
    out.values.emplace_back(std::move(name), value);
  }
  return Expect(Tok::kRBrace, "`,` or `}` in statistics");
}

// '{' [ STR [ index ] ] '}'
bool Parser::ReadOriginalArray(OriginalArray& out) {
  if (!Expect(Tok::kLBrace, "`{` of an original array")) return false;
  if (Take(Tok::kRBrace)) return true;
  if (!ReadValue(out.name)) return false;
  if (Is(Tok::kLBrace) && !ReadShapeIndex(out.index)) return false;
  return Expect(Tok::kRBrace, "`}` at the end of an original array");
}

bool Parser::ReadOriginTree(OriginalValue::Node& out) {
  const Depth depth(*this);
  if (!depth.ok()) return false;
  if (!Take(Tok::kLParen)) return ReadOriginalArray(out.leaf);
  out.is_tuple = true;
  while (!Is(Tok::kRParen)) {
    if (!ReadOriginTree(out.children.emplace_back())) return false;
    if (!Take(Tok::kComma)) break;
  }
  return Expect(Tok::kRParen, "`,` or `)` in an origin");
}

bool Parser::ReadValue(OriginalValue& out) {
  if (!Expect(Tok::kLBrace, "`{` of an origin")) return false;
  if (Take(Tok::kLSquare)) {
    out.synthetic_call = true;
    if (!TakeWord("synthetic_call")) return Unexpected("`synthetic_call`");
    return Expect(Tok::kRSquare, "`]` after `synthetic_call`") &&
           Expect(Tok::kRBrace, "`}` at the end of an origin");
  }
  if (Take(Tok::kRBrace)) {
    out.tree.is_tuple = true;
    return true;
  }
  if (!ReadOriginTree(out.tree)) return false;
  if (Is(Tok::kComma))
    return Fail(token().loc(),
                "several original arrays need parentheses: `{{({{\"a\"}}, {{\"b\"}})}}`");
  return Expect(Tok::kRBrace, "`}` at the end of an origin");
}

}  // namespace hlo
