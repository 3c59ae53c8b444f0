// Shapes and layouts.
//
//   shape  = PRIM '[' [ dim { ',' dim } ] ']' [ layout ]      dim = INT | '<=' INT | '?'
//          | '(' [ shape { ',' shape } ] ')'                  tuple
//          | 'b' '(' shape ')'                                buffer
//   layout = '{' [ INT { ',' INT } ] [ ':' properties ] '}'   only when `{` is followed by
//                                                             an integer or `:`
//
// Texts repeat the same few shapes thousands of times: an array shape is looked up by its text
// first.
#include <algorithm>

#include "parser/parser_internal.h"

namespace hlo {
namespace {

bool IsNameStart(char c) { return c == '%' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// One past the array shape whose element type ends at `at`, if it is written in the usual way: no
// blanks, no comments. Null otherwise.
const char* PlainArrayEnd(const char* at) {
  if (*at != '[') return nullptr;
  ++at;
  while ((*at >= '0' && *at <= '9') || *at == ',' || *at == '<' || *at == '=' || *at == '?') ++at;
  if (*at++ != ']') return nullptr;
  if (*at != '{') {
    // A blank could stand in front of a layout; the brace of a body stands at the end of its line.
    if (*at != ' ') return *at == '\t' || *at == '\n' || *at == '\r' || *at == '/' ? nullptr : at;
    if (at[1] == '{')
      return at[2] == '\n' && (at[3] == ' ' && at[4] == ' ') && IsNameStart(at[5]) ? at : nullptr;
    return at[1] == ' ' || at[1] == '/' || at[1] == '\n' || at[1] == '\r' || at[1] == '\t' ? nullptr
                                                                                           : at;
  }
  const char first = at[1];
  if (first != ':' && (first < '0' || first > '9'))
    return first == ' ' || first == '/' || first == '\n' ? nullptr : at;
  ++at;
  while (*at != '}') {
    const char c = *at++;
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == ',' || c == ':' ||
                       c == '(' || c == ')' || c == '*';
    if (!plain) return nullptr;
  }
  return at + 1;
}

}  // namespace

// One past the array shape at `at`, if the same text has been read before; null otherwise.
const char* Parser::KnownShapeEnd(const char* at, Shape& out) const {
  const char* word = at;
  while ((*word >= 'a' && *word <= 'z') || (*word >= '0' && *word <= '9')) ++word;
  const char* const end = PlainArrayEnd(word);
  if (end == nullptr) return nullptr;
  const auto known = shapes_.find(std::string_view(at, static_cast<size_t>(end - at)));
  if (known == shapes_.end()) return nullptr;
  out = known->second;
  return end;
}

bool Parser::StartsShape() const {
  return Is(Tok::kPrim) || Is(Tok::kLParen) ||
         (Is(Tok::kIdent) && token().text == "b" && lex_.PeekByte() == '(');
}

bool Parser::ParseShape(Shape& out) {
  if (Is(Tok::kPrim)) {
    const char* begin = lex_.At(token().begin);
    const char* end = PlainArrayEnd(lex_.cursor());
    if (end == nullptr) return ParseArrayShape(out);
    const std::string_view text(begin, static_cast<size_t>(end - begin));
    const auto [it, fresh] = shapes_.try_emplace(text);
    if (fresh) {
      const auto slot = it;
      if (!ParseArrayShape(out)) {
        shapes_.erase(text);
        return false;
      }
      // The slow path stops at the same place, or the fast one has misjudged the text.
      if (lex_.At(token().begin) < end) {
        shapes_.erase(text);
        return true;
      }
      slot->second = out;
      return true;
    }
    out = it->second;
    lex_.set_cursor(end);
    lex_.Next();
    return true;
  }
  const Depth depth(*this);
  if (!depth.ok()) return false;
  if (Is(Tok::kLParen)) {
    lex_.Next();
    absl::InlinedVector<Shape, 8> elements;
    if (!Is(Tok::kRParen)) {
      do {
        Shape element;
        if (!ParseShape(element)) return false;
        elements.push_back(element);
      } while (Take(Tok::kComma));
    }
    if (!Expect(Tok::kRParen, "`,` or `)` in a tuple shape")) return false;
    out = Shape::Tuple(elements);
    return true;
  }
  if (Is(Tok::kIdent) && token().text == "b" && lex_.PeekByte() == '(') {
    lex_.Next();
    lex_.Next();
    const SourceLoc loc = token().loc();
    Shape array;
    if (!ParseShape(array)) return false;
    if (!array.IsArray()) return Fail(loc, "a buffer holds an array, not `{}`", array);
    if (!Expect(Tok::kRParen, "`)` at the end of a buffer shape")) return false;
    out = Shape::Buffer(array);
    return true;
  }
  if (Is(Tok::kIdent)) {
    return Fail(token().loc(), "expected a shape, found `{}`, which is no element type",
                token().text);
  }
  return Unexpected("a shape");
}

bool Parser::ParseArrayShape(Shape& out) {
  const ElementType type = token().type;
  const SourceLoc loc = token().loc();
  lex_.Next();
  if (!Expect(Tok::kLSquare, "`[` after the element type")) return false;
  DimVec dims;
  absl::InlinedVector<bool, 6> dynamic;
  while (!Is(Tok::kRSquare)) {
    if (!dims.empty() && !Expect(Tok::kComma, "`,` or `]` in a shape")) return false;
    const SourceLoc dim_loc = token().loc();
    if (Take(Tok::kQuestion)) {
      dims.push_back(Shape::kUnbounded);
      dynamic.push_back(true);
      continue;
    }
    const bool bounded = Take(Tok::kLeq);
    if (!Is(Tok::kInt)) return Unexpected(bounded ? "a bound" : "a dimension");
    if (token().value < 0 || token().wide || token().overflow) {
      return Fail(dim_loc, "a dimension of size {}, expected 0 to 2^63 - 1", token().text);
    }
    dims.push_back(token().value);
    dynamic.push_back(bounded);
    lex_.Next();
  }
  const uint32_t end = token().end;
  const char* after = lex_.SkipBlanks(lex_.cursor());
  const bool has_layout = [&] {
    if (*after != '{' || (glued_layouts_ && after != lex_.cursor())) return false;
    const char* inside = lex_.SkipBlanks(after + 1);
    return *inside == ':' || (*inside >= '0' && *inside <= '9') || *inside == '-';
  }();
  lex_.Next();
  if (type == ElementType::kToken || type == ElementType::kOpaque) {
    if (!dims.empty()) return Fail(loc, "`{}` has no dimensions", Text(type));
    if (has_layout) return Fail(token().loc(), "`{}` has no layout", Text(type));
    out = type == ElementType::kToken ? Shape::Token() : Shape::Opaque();
    return true;
  }
  out = Shape::Array(type, dims, dynamic);
  if (has_layout) {
    const SourceLoc layout_loc = token().loc();
    Layout layout;
    if (!ParseLayout(layout, static_cast<int>(dims.size()))) return false;
    if (layout.minor_to_major.size() != dims.size()) {
      return Fail(layout_loc, "the layout orders {} dimensions, but the shape has {}",
                  layout.minor_to_major.size(), dims.size());
    }
    out = out.WithLayout(layout);
  } else if (!fill_layouts_ && !dims.empty()) {
    out = out.WithoutLayout();
  }
  // What belongs to sparse arrays, and splits, are the verifier's business.
  Shape checked = out;
  if (has_layout) {
    const Layout& written = *out.layout_or_null();
    if (written.index_type || written.pointer_type || !written.split_configs.empty()) {
      Layout plain = written;
      plain.index_type.reset();
      plain.pointer_type.reset();
      plain.split_configs.clear();
      checked = out.WithLayout(plain);
    }
  }
  if (const absl::Status status = ValidateShape(checked); !status.ok()) {
    return FailWith(status, {loc.offset, end - loc.offset});
  }
  return true;
}

namespace {

// Reads what stands in the parentheses after a property letter.
class PropertyReader {
 public:
  PropertyReader(Parser& parser, Layout& layout) : parser_(parser), layout_(layout) {}

  // ':' has been read; reads up to the closing brace.
  bool Run(Lexer& lex) {
    lex_ = &lex;
    return Levels() && Tiles() && Number("L", layout_.tail_padding_alignment) &&
           Type(Tok::kHash, layout_.index_type) && Type(Tok::kStar, layout_.pointer_type) &&
           Number("E", layout_.element_size_in_bits) && Number("S", layout_.memory_space) &&
           Splits() && Physical() && Number("M", layout_.dynamic_shape_metadata_prefix_bytes) &&
           Prefix();
  }

 private:
  bool Letter(std::string_view word) { return parser_.TakeWord(word); }
  bool Int(int64_t& out) { return parser_.ReadValue(out); }

  // D(D+~,C): levels of sparse arrays in old texts; dropped.
  bool Levels() {
    const SourceLoc loc = parser_.token().loc();
    if (!Letter("D")) return true;
    parser_.Warn(loc, "the level types of a layout are dropped");
    if (!parser_.Expect(Tok::kLParen, "`(` after `D`")) return false;
    do {
      if (!(Letter("D") || Letter("C") || Letter("S") || Letter("H")))
        return parser_.Unexpected("a level `D`, `C`, `S` or `H`");
      parser_.Take(Tok::kPlus);
      parser_.Take(Tok::kTilde);
    } while (parser_.Take(Tok::kComma));
    return parser_.Expect(Tok::kRParen, "`)` after the levels");
  }

  bool Tiles() {
    if (!Letter("T")) return true;
    if (!parser_.Is(Tok::kLParen)) return parser_.Unexpected("`(` after `T`");
    while (parser_.Is(Tok::kLParen)) {
      lex_->Next();
      Tile tile;
      while (!parser_.Is(Tok::kRParen)) {
        if (!tile.dims.empty() && !parser_.Expect(Tok::kComma, "`,` or `)` in a tile"))
          return false;
        int64_t size = Tile::kCombine;
        if (!parser_.Take(Tok::kStar)) {
          const SourceLoc loc = parser_.token().loc();
          if (!Int(size)) return false;
          if (size < 1)
            return parser_.Fail(loc, "a tile of size {}, expected a positive one", size);
        }
        tile.dims.push_back(size);
      }
      lex_->Next();
      layout_.tiles.push_back(std::move(tile));
    }
    return true;
  }

  bool Number(std::string_view letter, int64_t& out) {
    if (!Letter(letter)) return true;
    if (!parser_.Expect(Tok::kLParen, "`(` after the layout property")) return false;
    return Int(out) && parser_.Expect(Tok::kRParen, "`)` after the layout property");
  }

  bool Type(Tok mark, std::optional<ElementType>& out) {
    if (!parser_.Take(mark)) return true;
    if (!parser_.Expect(Tok::kLParen, "`(` in front of a type")) return false;
    if (!parser_.Is(Tok::kPrim) || !IsInteger(parser_.token().type))
      return parser_.Unexpected("an integer type");
    out = parser_.token().type;
    lex_->Next();
    return parser_.Expect(Tok::kRParen, "`)` after the type");
  }

  bool Splits() {
    if (!Letter("SC")) return true;
    do {
      if (!parser_.Expect(Tok::kLParen, "`(` in front of a split")) return false;
      SplitConfig split;
      if (!Int(split.dimension) || !parser_.Expect(Tok::kColon, "`:` after the split dimension"))
        return false;
      while (!parser_.Is(Tok::kRParen)) {
        if (!split.indices.empty() && !parser_.Expect(Tok::kComma, "`,` or `)` in a split"))
          return false;
        int64_t index;
        if (!Int(index)) return false;
        split.indices.push_back(index);
      }
      lex_->Next();
      layout_.split_configs.push_back(std::move(split));
    } while (parser_.Is(Tok::kLParen));
    return true;
  }

  bool Physical() {
    if (!parser_.IsWord("P")) return true;
    return parser_.Fail(parser_.token().loc(),
                        "a physical shape belongs to a sparse array, which this is not");
  }

  // A negative prefix means none; XLA does not print it either.
  bool Prefix() {
    int64_t& bytes = layout_.dynamic_shape_metadata_prefix_bytes;
    bytes = std::max<int64_t>(bytes, 0);
    return true;
  }

  Parser& parser_;
  Layout& layout_;
  Lexer* lex_ = nullptr;
};

}  // namespace

bool Parser::ParseLayout(Layout& out, int rank) {
  if (!Expect(Tok::kLBrace, "`{` of a layout")) return false;
  out = Layout();
  out.minor_to_major.reserve(static_cast<size_t>(rank));
  // `0:` lexes as an integer and a colon; only names swallow theirs.
  while (Is(Tok::kInt)) {
    int64_t dim;
    if (!ReadValue(dim)) return false;
    out.minor_to_major.push_back(dim);
    if (!Take(Tok::kComma)) break;
    if (!Is(Tok::kInt)) return Unexpected("a dimension of the layout");
  }
  if (Take(Tok::kColon)) {
    return PropertyReader(*this, out).Run(lex_) &&
           Expect(Tok::kRBrace,
                  "`}`, or layout properties in the order `D`, `T`, `L`, `#`, `*`, `E`, `S`, `SC`, "
                  "`M`");
  }
  return Expect(Tok::kRBrace, "`}` at the end of the layout");
}

}  // namespace hlo
