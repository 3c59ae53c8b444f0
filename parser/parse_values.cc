// Values of attributes, by C++ type. The grammar of each stands above its reader.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/support/read_number.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr std::string_view kBoolWords[] = {"true", "false"};

// Splits `text` at `separator` and reads each piece with `read`; false when one cannot be read.
template <class Read>
bool ForEachPiece(std::string_view text, char separator, Read&& read) {
  while (true) {
    const size_t at = text.find(separator);
    if (!read(text.substr(0, at))) return false;
    if (at == std::string_view::npos) return true;
    text.remove_prefix(at + 1);
  }
}

// XLA reads one dimension of a list for these.
bool TakesFirstDimension(Opcode opcode) {
  return opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart ||
         opcode == Opcode::kReduceScatter || opcode == Opcode::kGetDimensionSize ||
         opcode == Opcode::kSetDimensionSize;
}

}  // namespace

bool Parser::BadWord(std::span<const std::string_view> words) {
  std::string choices;
  for (const std::string_view word : words) {
    if (!choices.empty()) choices += ", ";
    choices += fmt::format("`{}`", word);
  }
  const std::string hint = Is(Tok::kIdent) ? DidYouMean(token().text, words) : "";
  return Fail(token().loc(), "expected one of {}, found {}{}", choices, Describe(token()), hint);
}

bool Parser::ReadWord(std::string& out, std::span<const std::string_view> words) {
  for (const std::string_view word : words) {
    if (IsWord(word)) {
      out = word;
      lex_.Next();
      return true;
    }
  }
  return BadWord(words);
}

bool Parser::ReadValue(bool& out) {
  if (!Is(Tok::kTrue) && !Is(Tok::kFalse)) return BadWord(kBoolWords);
  out = Is(Tok::kTrue);
  lex_.Next();
  return true;
}

bool Parser::ReadValue(int64_t& out) {
  if (!Is(Tok::kInt)) return Unexpected("an integer");
  if (token().overflow) return Fail(token().loc(), "`{}` does not fit 64 bits", token().text);
  out = token().value;
  lex_.Next();
  return true;
}

bool Parser::ReadValue(int32_t& out) {
  const Token at = token();
  int64_t wide;
  if (!ReadValue(wide)) return false;
  if (wide != static_cast<int32_t>(wide) || at.wide)
    return Fail(at.loc(), "`{}` does not fit 32 bits", at.text);
  out = static_cast<int32_t>(wide);
  return true;
}

// INT | DEC | inf | -inf | nan
bool Parser::ReadDouble(double& out) {
  const Tok kind = lex_.kind();
  const std::string_view text = token().text;
  if (kind == Tok::kInt && !token().overflow) {
    out = token().wide ? static_cast<double>(static_cast<uint64_t>(token().value))
                       : static_cast<double>(token().value);
  } else if (kind == Tok::kDec && text.find("nan") != std::string_view::npos) {
    out = std::copysign(std::numeric_limits<double>::quiet_NaN(), text[0] == '-' ? -1.0 : 1.0);
  } else if (kind == Tok::kInt || kind == Tok::kDec) {
    if (!ToDouble(text, out))
      return Fail(token().loc(), "`{}` is out of range for a 64-bit float", text);
  } else if (kind == Tok::kInf || kind == Tok::kNegInf) {
    const double infinity = std::numeric_limits<double>::infinity();
    out = kind == Tok::kInf ? infinity : -infinity;
  } else {
    return Unexpected("a number");
  }
  lex_.Next();
  return true;
}

bool Parser::ReadValue(float& out) {
  const SourceLoc loc = token().loc();
  const std::string_view text = token().text;
  double wide;
  if (!ReadDouble(wide)) return false;
  if (std::abs(wide) > std::numeric_limits<float>::max())
    return Fail(loc, "`{}` is out of range for a 32-bit float", text);
  out = static_cast<float>(wide);
  return true;
}

bool Parser::ReadValue(std::string& out) {
  if (!Is(Tok::kString)) return Unexpected("a string");
  const std::string_view inside = token().text.substr(1, token().text.size() - 2);
  if (inside.find('\\') == std::string_view::npos) {
    out = inside;
  } else {
    std::optional<std::string> plain = CUnescape(inside);
    if (!plain) return Fail(token().loc(), "a malformed escape in this string");
    out = std::move(*plain);
  }
  lex_.Next();
  return true;
}

bool Parser::ReadValue(SharedText& out) {
  if (!Is(Tok::kString)) return Unexpected("a string");
  const std::string_view inside = token().text.substr(1, token().text.size() - 2);
  const auto [known, fresh] = texts_.try_emplace(inside);
  if (fresh && inside.find('\\') != std::string_view::npos) {
    std::string text;
    if (!ReadValue(text)) {
      texts_.erase(known);
      return false;
    }
    known->second = out = text;
    return true;
  }
  if (fresh) known->second = inside;
  out = known->second;
  lex_.Next();
  return true;
}

// STR | '{' raw JSON text '}'
bool Parser::ReadStringOrDict(std::string& out) {
  if (!Is(Tok::kLBrace)) {
    if (!Is(Tok::kString)) return Unexpected("a string or a JSON object");
    return ReadValue(out);
  }
  const char* begin = lex_.At(token().begin);
  const char* end = lex_.SkipJsonDict(begin);
  if (end == nullptr) return Fail(token().loc(), "this JSON object does not end");
  out.assign(begin, end);
  lex_.set_cursor(end);
  lex_.Next();
  return true;
}

// '{' [ INT { ',' INT } ] '}'
bool Parser::ReadValue(DimVec& out) { return ReadBracedInts(out); }

// '{' [ INTS { ',' INTS } ] '}'
bool Parser::ReadValue(std::vector<DimVec>& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of lists")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!ReadBracedInts(out.emplace_back())) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list of lists");
}

bool Parser::ReadValue(BracedDim& out) {
  const SourceLoc loc = token().loc();
  DimVec dims;
  if (!ReadBracedInts(dims)) return false;
  if (dims.size() > 1 && TakesFirstDimension(attributes_of_)) {
    Warn(loc, "`{}` has one dimension; the others are dropped", Text(attributes_of_));
    dims.resize(1);
  }
  if (dims.size() != 1) return Fail(loc, "expected exactly one dimension, found {}", dims.size());
  out.value = dims[0];
  return true;
}

// INT | DXD
bool Parser::ReadDxd(DimVec& out) {
  out.clear();
  if (!Is(Tok::kInt) && !Is(Tok::kDxd)) return Unexpected("sizes such as `2x3`");
  const auto read = [&](std::string_view piece) {
    int64_t value;
    if (!ReadNumberTo(piece, value)) return false;
    out.push_back(value);
    return true;
  };
  if (!ForEachPiece(token().text, 'x', read))
    return Fail(token().loc(), "`{}` holds a number that does not fit 64 bits", token().text);
  lex_.Next();
  return true;
}

// '{' { 'size=' DXD | 'stride=' DXD | 'pad=' PAD | 'lhs_dilate=' DXD | 'rhs_dilate=' DXD |
// 'rhs_reversal=' DXD } '}'
bool Parser::ReadValue(Window& out) {
  if (!Expect(Tok::kLBrace, "`{` of a window")) return false;
  static constexpr std::string_view kItems[] = {"size",       "stride",     "pad",
                                                "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  DimVec lists[6];
  bool seen[6] = {};
  SourceLoc locs[6];
  while (!Is(Tok::kRBrace)) {
    if (!Is(Tok::kAttr)) return Unexpected("a part of a window such as `size=`, or `}`");
    const auto* found = std::find(std::begin(kItems), std::end(kItems), token().text);
    if (found == std::end(kItems)) {
      return Fail(token().loc(), "a window has no `{}`{}", token().text,
                  DidYouMean(token().text, kItems));
    }
    const auto item = static_cast<size_t>(found - kItems);
    if (seen[item]) return Fail(token().loc(), "`{}` is given twice", *found);
    seen[item] = true;
    locs[item] = token().loc();
    lex_.Next();
    if (item == 2) {
      if (!Is(Tok::kPad)) return Unexpected("paddings such as `1_1x0_2`");
      int numbers_in_dim = 0;
      const auto read_dim = [&](std::string_view dim) {
        numbers_in_dim = 0;
        return ForEachPiece(dim, '_',
                            [&](std::string_view number) {
                              ++numbers_in_dim;
                              return ReadNumberTo(number, lists[2].emplace_back());
                            }) &&
               numbers_in_dim == 2;
      };
      if (!ForEachPiece(token().text, 'x', read_dim)) {
        return Fail(token().loc(),
                    "expected low and high padding per dimension, such as `1_1x0_2`, found `{}`",
                    token().text);
      }
      lex_.Next();
    } else if (!ReadDxd(lists[item])) {
      return false;
    }
  }
  lex_.Next();
  const size_t rank = lists[0].size();
  for (size_t item = 1; item < 6; ++item) {
    const size_t size = item == 2 ? lists[2].size() / 2 : lists[item].size();
    if (seen[item] && size != rank) {
      return Fail(locs[item], "`{}` has {} dimensions, but `size` has {}", kItems[item], size,
                  rank);
    }
  }
  out.dims.assign(rank, WindowDim());
  for (size_t i = 0; i < rank; ++i) {
    WindowDim& dim = out.dims[i];
    dim.size = lists[0][i];
    if (seen[1]) dim.stride = lists[1][i];
    if (seen[2]) {
      dim.pad_low = lists[2][2 * i];
      dim.pad_high = lists[2][2 * i + 1];
    }
    if (seen[3]) dim.base_dilation = lists[3][i];
    if (seen[4]) dim.window_dilation = lists[4][i];
    if (seen[5]) dim.reversal = lists[5][i] == 1;
  }
  return true;
}

namespace {

// The three parts of `b01f_01io->b01f`.
struct LabelGroup {
  std::string_view letters;
  std::string_view what;
  char first, second;
};

}  // namespace

bool Parser::ReadValue(ConvDimNumbers& out) {
  if (!Is(Tok::kDimLabels)) return Unexpected("dimension labels such as `b01f_01io->b01f`");
  const std::string_view text = token().text;
  const SourceLoc loc = token().loc();
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  const LabelGroup groups[] = {
      {text.substr(0, underscore), "lhs", 'b', 'f'},
      {text.substr(underscore + 1, arrow - underscore - 1), "rhs", 'i', 'o'},
      {text.substr(arrow + 2), "output", 'b', 'f'}};
  int64_t* const roles[3][2] = {{&out.input_batch, &out.input_feature},
                                {&out.kernel_input_feature, &out.kernel_output_feature},
                                {&out.output_batch, &out.output_feature}};
  DimVec* const spatial[3] = {&out.input_spatial, &out.kernel_spatial, &out.output_spatial};
  for (size_t g = 0; g < 3; ++g) {
    const LabelGroup& group = groups[g];
    size_t count = 0;
    bool used[256] = {};
    for (const char c : group.letters) {
      if (c == '?') continue;
      bool& seen = used[static_cast<unsigned char>(c)];
      if (seen)
        return Fail(loc, "`{}` stands twice in the {} labels `{}`", c, group.what, group.letters);
      seen = true;
      count += c >= '0' && c <= '9';
    }
    spatial[g]->assign(count, 0);
    for (size_t i = 0; i < group.letters.size(); ++i) {
      const char c = group.letters[i];
      const auto at = static_cast<int64_t>(i);
      if (c == group.first) *roles[g][0] = at;
      if (c == group.second) *roles[g][1] = at;
      if (c < '0' || c > '9') continue;
      const auto dim = static_cast<size_t>(c - '0');
      if (dim >= count) {
        return Fail(loc, "label `{}` in the {} labels `{}`, which have {} spatial dimensions", c,
                    group.what, group.letters, count);
      }
      (*spatial[g])[dim] = at;
    }
  }
  if (spatial[0]->size() != spatial[1]->size() || spatial[0]->size() != spatial[2]->size()) {
    return Fail(
        loc, "lhs, rhs and output have {}, {} and {} spatial dimensions, expected the same number",
        spatial[0]->size(), spatial[1]->size(), spatial[2]->size());
  }
  lex_.Next();
  return true;
}

// low_high[_interior]x…; nothing at all for a scalar
bool Parser::ReadValue(PaddingConfig& out) {
  if (Is(Tok::kComma) || Is(Tok::kRBrace) || Is(Tok::kEof) || Is(Tok::kRoot) || IsNameToken())
    return true;
  if (!Is(Tok::kPad)) return Unexpected("paddings such as `1_1x0_2_1`");
  const auto read_dim = [&](std::string_view text) {
    PaddingDim& dim = out.dims.emplace_back();
    int64_t* const numbers[] = {&dim.low, &dim.high, &dim.interior};
    size_t k = 0;
    return ForEachPiece(text, '_',
                        [&](std::string_view number) {
                          return k < 3 && ReadNumberTo(number, *numbers[k++]);
                        }) &&
           k >= 2;
  };
  if (!ForEachPiece(token().text, 'x', read_dim)) {
    return Fail(token().loc(), "`{}` holds a number that does not fit 64 bits", token().text);
  }
  lex_.Next();
  return true;
}

// '{' [ prec { ',' prec } ] '}'
bool Parser::ReadValue(PrecisionConfig& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of precisions")) return false;
  bool any = false;
  if (!Is(Tok::kRBrace)) {
    do {
      if (!ReadValue(out.values.emplace_back())) return false;
      any = any || out.values.back() != Precision::kDefault;
    } while (Take(Tok::kComma));
  }
  if (!any) out.values.clear();
  return Expect(Tok::kRBrace, "`,` or `}` in a list of precisions");
}

// '{' [ range { ',' range } ] '}'   range = '[' INT ':' INT [ ':' INT ] ']'
bool Parser::ReadValue(SliceRanges& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of ranges")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    SliceRange& range = out.emplace_back();
    if (!Expect(Tok::kLSquare, "`[` of a range") || !ReadValue(range.start) ||
        !Expect(Tok::kColon, "`:` in a range") || !ReadValue(range.limit)) {
      return false;
    }
    if (Take(Tok::kColon) && !ReadValue(range.stride)) return false;
    if (!Expect(Tok::kRSquare, "`:` or `]` in a range")) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list of ranges");
}

// '{' [ INT { ',' INT } [','] ] '}'
bool Parser::ReadShapeIndex(ShapeIndex& out) {
  if (!Expect(Tok::kLBrace, "`{` of a shape index")) return false;
  out.clear();
  while (!Is(Tok::kRBrace)) {
    int64_t i;
    if (!ReadValue(i)) return false;
    out.push_back(i);
    if (!Take(Tok::kComma)) break;
  }
  return Expect(Tok::kRBrace, "`,` or `}` in a shape index");
}

// '{' [ index ':' '(' INT ',' index ')' { ',' … } [','] ] '}'
bool Parser::ReadValue(OutputOperandAliases& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of aliases")) return false;
  while (!Is(Tok::kRBrace)) {
    OutputOperandAlias& alias = out.emplace_back();
    if (!ReadShapeIndex(alias.output) || !Expect(Tok::kColon, "`:` after the output index") ||
        !Expect(Tok::kLParen, "`(` in front of the operand number") || !ReadValue(alias.operand) ||
        !Expect(Tok::kComma, "`,` after the operand number") ||
        !ReadShapeIndex(alias.operand_index) ||
        !Expect(Tok::kRParen, "`)` at the end of an alias")) {
      return false;
    }
    if (!Take(Tok::kComma)) break;
  }
  return Expect(Tok::kRBrace, "`,` or `}` in a list of aliases");
}

bool Parser::ReadValue(DevicePairs& out) {
  const SourceLoc loc = token().loc();
  std::vector<DimVec> lists;
  if (!ReadValue(lists)) return false;
  for (const DimVec& list : lists) {
    if (list.size() != 2)
      return Fail(loc, "expected pairs of a source and a target, found a list of {}", list.size());
    out.emplace_back(list[0], list[1]);
  }
  return true;
}

// '{' 'kind="sharding"' 'entry=' SHARDING 'exit=' SHARDING '}' with optional commas
bool Parser::ReadValue(DomainConfig& out) {
  const SourceLoc loc = token().loc();
  if (!Expect(Tok::kLBrace, "`{` of a domain")) return false;
  bool kind = false, entry = false, exit = false;
  while (!Is(Tok::kRBrace)) {
    if (Take(Tok::kComma) && Is(Tok::kRBrace)) return Unexpected("`kind=`, `entry=` or `exit=`");
    if (!Is(Tok::kAttr)) return Unexpected("`kind=`, `entry=` or `exit=`");
    const Token name = token();
    lex_.Next();
    bool* seen = name.text == "kind"    ? &kind
                 : name.text == "entry" ? &entry
                 : name.text == "exit"  ? &exit
                                        : nullptr;
    if (seen == nullptr)
      return Fail(name.loc(), "a domain has no `{}`; expected `kind`, `entry` or `exit`",
                  name.text);
    if (*seen) return Fail(name.loc(), "`{}` is given twice", name.text);
    *seen = true;
    if (name.text == "kind") {
      std::string text;
      const SourceLoc text_loc = token().loc();
      if (!ReadValue(text)) return false;
      if (text != "sharding")
        return Fail(text_loc, "a domain of kind `{}`, expected `sharding`", text);
    } else if (!ReadValue(name.text == "entry" ? out.entry : out.exit)) {
      return false;
    }
  }
  lex_.Next();
  if (!kind || !entry || !exit) {
    return Fail(loc, "a domain needs `kind`, `entry` and `exit`; `{}` is missing",
                !kind    ? "kind"
                : !entry ? "entry"
                         : "exit");
  }
  return true;
}

// '{' { ('lhs=' | 'rhs=') '{' { 'sparsity=' NxM | 'dimension=' INT | 'stride=' INT | 'idx=' INT }
// '}' } '}'
bool Parser::ReadValue(SparsityConfig& out) {
  if (!Expect(Tok::kLBrace, "`{` of a sparsity config")) return false;
  while (!Is(Tok::kRBrace)) {
    if (!Is(Tok::kAttr) || (token().text != "lhs" && token().text != "rhs"))
      return Unexpected("`lhs=`, `rhs=` or `}`");
    std::optional<TensorSparsity>& side = token().text == "lhs" ? out.lhs : out.rhs;
    if (side.has_value()) return Fail(token().loc(), "`{}` is given twice", token().text);
    side.emplace();
    lex_.Next();
    if (!Expect(Tok::kLBrace, "`{` of one side's sparsity")) return false;
    while (!Is(Tok::kRBrace)) {
      if (!Is(Tok::kAttr)) return Unexpected("`sparsity=`, `dimension=`, `stride=`, `idx=` or `}`");
      const Token name = token();
      lex_.Next();
      if (name.text == "sparsity") {
        const SourceLoc loc = token().loc();
        DimVec sizes;
        if (!ReadDxd(sizes)) return false;
        if (sizes.size() != 2)
          return Fail(loc, "expected two numbers such as `2x4`, found {}", sizes.size());
        side->n = sizes[0];
        side->m = sizes[1];
        continue;
      }
      int64_t* number = name.text == "dimension" ? &side->dimension
                        : name.text == "stride"  ? &side->stride
                        : name.text == "idx"     ? &side->index
                                                 : nullptr;
      if (number == nullptr)
        return Fail(name.loc(),
                    "a sparsity has no `{}`; expected `sparsity`, `dimension`, `stride` or `idx`",
                    name.text);
      if (!ReadValue(*number)) return false;
    }
    lex_.Next();
  }
  lex_.Next();
  return true;
}

// '{' ( 'mode=' WORD | 'tolerance=' '{' [ ('atol' | 'rtol' | 'ulps') '=' number { ',' … } ] '}' )
// '}'
bool Parser::ReadValue(ResultAccuracy& out) {
  if (!Expect(Tok::kLBrace, "`{` of a result accuracy")) return false;
  if (!Is(Tok::kAttr) || (token().text != "mode" && token().text != "tolerance"))
    return Unexpected("`mode=` or `tolerance=`");
  const bool mode = token().text == "mode";
  lex_.Next();
  if (mode) {
    if (!ReadValue(out.mode)) return false;
    return Expect(Tok::kRBrace, "`}` at the end of a result accuracy");
  }
  out.has_tolerance = true;
  if (!Expect(Tok::kLBrace, "`{` of a tolerance")) return false;
  for (bool more = !Is(Tok::kRBrace); more; more = Take(Tok::kComma)) {
    if (!Is(Tok::kAttr)) return Unexpected("`atol=`, `rtol=`, `ulps=` or `}`");
    const Token name = token();
    lex_.Next();
    const SourceLoc loc = token().loc();
    double value;
    if (!ReadDouble(value)) return false;
    if (!(value >= 0)) return Fail(loc, "a tolerance of {}, expected at least 0", value);
    if (name.text == "atol") {
      out.atol = value;
    } else if (name.text == "rtol") {
      out.rtol = value;
    } else if (name.text == "ulps") {
      if (value >= 9e18) return Fail(loc, "a tolerance of {} ulps, expected less than 9e18", value);
      out.ulps = static_cast<int64_t>(value);
    } else {
      return Fail(name.loc(), "a tolerance has no `{}`; expected `atol`, `rtol` or `ulps`",
                  name.text);
    }
  }
  return Expect(Tok::kRBrace, "`,` or `}` in a tolerance") &&
         Expect(Tok::kRBrace, "`}` at the end of a result accuracy");
}

// '{' [ shape { ',' shape } ] '}'
bool Parser::ReadValue(std::vector<Shape>& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of shapes")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!ParseShape(out.emplace_back())) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list of shapes");
}

// '{' [ BOOL { ',' BOOL } ] '}'
bool Parser::ReadValue(std::vector<bool>& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    bool value;
    if (!ReadValue(value)) return false;
    out.push_back(value);
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list");
}

// shape literal | '(' [ literal { ',' literal } ] ')'
bool Parser::ReadValue(Literal& out) {
  const Depth depth(*this);
  if (!depth.ok()) return false;
  if (Is(Tok::kLParen)) {
    lex_.Next();
    std::vector<Literal> elements;
    if (!Is(Tok::kRParen)) {
      do {
        if (!ReadValue(elements.emplace_back())) return false;
      } while (Take(Tok::kComma));
    }
    out = Literal::Tuple(std::move(elements));
    return Expect(Tok::kRParen, "`,` or `)` in a tuple literal");
  }
  Shape shape;
  if (!ParseShape(shape)) return false;
  // The literal starts at the current token: step back in front of it.
  lex_.set_cursor(lex_.At(token().begin));
  return ParseLiteral(shape, out);
}

bool Parser::ReadInts(std::vector<int64_t>& out) {
  do {
    int64_t value;
    if (!ReadValue(value)) return false;
    out.push_back(value);
  } while (Take(Tok::kComma));
  return true;
}

}  // namespace hlo
