#include "parser/lexer.h"

#include <charconv>
#include <cstring>

#include "lib/types/reserved_words.h"

namespace hlo {
namespace {

const char* SkipDigits(const char* at) {
  while (IsDigit(*at)) ++at;
  return at;
}

// One dimension of a pad pattern, -?D+_-?D+[_D+]; null when it does not match.
const char* MatchPadDim(const char* at) {
  for (int part = 0; part < 2; ++part) {
    if (*at == '-') ++at;
    const char* digits = SkipDigits(at);
    if (digits == at) return nullptr;
    at = digits;
    if (part == 0 && *at++ != '_') return nullptr;
  }
  return *at == '_' && IsDigit(at[1]) ? SkipDigits(at + 1) : at;
}

const char* MatchPad(const char* at) {
  const char* last = at = MatchPadDim(at);
  while (at != nullptr && *at == 'x') {
    at = MatchPadDim(at + 1);
    if (at != nullptr) last = at;
  }
  return last;
}

const char* MatchDxd(const char* at) {
  at = SkipDigits(at);
  const char* last = nullptr;
  while (*at == 'x' && IsDigit(at[1])) last = at = SkipDigits(at + 1);
  return last;
}

// The element type with this text; `word` is a whole identifier.
bool ElementTypeWord(std::string_view word, ElementType& type) {
  if (!MayBeElementType(word)) return false;
  if (word == "f32") {
    type = ElementType::kF32;
    return true;
  }
  const auto found = ElementTypeFromText(word);
  if (!found) return false;
  type = *found;
  return true;
}

Tok KeywordKind(std::string_view word) {
  constexpr Tok kTokens[] = {
#define HLO_RESERVED_WORD(token, text) Tok::token,
#include "lib/types/reserved_words.def"
  };
  const int found = FindReservedWord(word);
  return found < 0 ? Tok::kIdent : kTokens[found];
}

// At least two of `letters` or digits from `at`; null when there are fewer.
const char* MatchLabels(const char* at, char a, char b) {
  const char* start = at;
  while (IsDigit(*at) || *at == a || *at == b || *at == '?') ++at;
  return at - start >= 2 ? at : nullptr;
}

}  // namespace

const char* MatchDimLabels(const char* at) {
  at = MatchLabels(at, 'b', 'f');
  if (at == nullptr || *at != '_') return nullptr;
  at = MatchLabels(at + 1, 'i', 'o');
  if (at == nullptr || at[0] != '-' || at[1] != '>') return nullptr;
  return MatchLabels(at + 2, 'b', 'f');
}

void Lexer::Finish(Tok kind, const char* begin, const char* end) {
  token_.kind = kind;
  token_.begin = OffsetOf(begin);
  token_.end = OffsetOf(end);
  token_.text = {begin, static_cast<size_t>(end - begin)};
  at_ = end;
}

void Lexer::Fail(const char* begin, const char* end, std::string_view problem) {
  Finish(Tok::kError, begin, end);
  token_.problem = problem;
}

const char* Lexer::SkipComment(const char* at) const {
  if (at[1] == '/') {
    at += 2;
    while (at < end_ && *at != '\n' && *at != '\r' && *at != '\0') ++at;
    return at;
  }
  const char* close = at + 2;
  while (close < end_) {
    close = static_cast<const char*>(memchr(close, '*', static_cast<size_t>(end_ - close)));
    if (close == nullptr) return at;
    if (close[1] == '/') break;
    ++close;
  }
  if (close >= end_) return at;
  return memchr(at, '\0', static_cast<size_t>(close - at)) == nullptr ? close + 2 : at;
}

const char* Lexer::SkipJsonDict(const char* at) const {
  int depth = 0;
  for (; at < end_; ++at) {
    switch (*at) {
      case '{': ++depth; break;
      case '}':
        if (--depth == 0) return at + 1;
        break;
      case '"':
        for (++at; at < end_ && *at != '"'; ++at) {
          if (*at == '\\') ++at;
        }
        break;
      default: break;
    }
  }
  return nullptr;
}

void Lexer::Next() {
  const char* at = SkipBlanks(at_);
  const auto single = [&](Tok kind) { Finish(kind, at, at + 1); };
  switch (*at) {
    case '=': return single(Tok::kEqual);
    case ',': return single(Tok::kComma);
    case ':': return single(Tok::kColon);
    case '*': return single(Tok::kStar);
    case '#': return single(Tok::kHash);
    case '+': return single(Tok::kPlus);
    case '~': return single(Tok::kTilde);
    case '[': return single(Tok::kLSquare);
    case ']': return single(Tok::kRSquare);
    case '{': return single(Tok::kLBrace);
    case '}': return single(Tok::kRBrace);
    case '(': return single(Tok::kLParen);
    case ')': return single(Tok::kRParen);
    case '%': {
      if (!IsIdentStart(at[1])) return Fail(at, at + 1, "expected a name after `%`");
      Finish(Tok::kName, at, IdentEnd(at + 2));
      token_.text.remove_prefix(1);
      return;
    }
    case '"':
    case '\'': return String(at);
    case '<':
      if (at[1] == '=') return Finish(Tok::kLeq, at, at + 2);
      return Fail(at, at + 1);
    case '.':
      if (at[1] == '.' && at[2] == '.') return Finish(Tok::kDots, at, at + 3);
      return Fail(at, at + 1);
    case '?': {
      const char* labels = MatchDimLabels(at);
      return labels != nullptr ? Finish(Tok::kDimLabels, at, labels) : single(Tok::kQuestion);
    }
    case '-':
      if (at[1] == '>') return Finish(Tok::kArrow, at, at + 2);
      return Number(at);
    case '\0':
      if (at >= end_) return Finish(Tok::kEof, end_, end_);
      return Fail(at, at + 1, "a NUL byte in the text");
    case '/':
      if (at[1] == '*') {
        Fail(at, at + 2, "this comment does not end");
        at_ = end_;
        return;
      }
      return Fail(at, at + 1);
    default:
      if (IsIdentStart(*at)) return Identifier(at);
      if (IsDigit(*at)) return Number(at);
      return Fail(at, at + 1);
  }
}

void Lexer::Identifier(const char* begin) {
  const char* end = IdentEnd(begin + 1);
  if (*end == ':' || *end == '=') {
    Finish(*end == ':' ? Tok::kName : Tok::kAttr, begin, end);
    at_ = end + 1;
    return;
  }
  const std::string_view word(begin, static_cast<size_t>(end - begin));
  if (ElementTypeWord(word, token_.type)) return Finish(Tok::kPrim, begin, end);
  if (word == "nan") return Nan(begin, end);
  const Tok kind = KeywordKind(word);
  if (kind == Tok::kIdent && (*begin == 'b' || *begin == 'f')) {
    if (const char* labels = MatchDimLabels(begin)) return Finish(Tok::kDimLabels, begin, labels);
  }
  Finish(kind, begin, end);
}

void Lexer::Integer(const char* begin, const char* end) {
  Finish(Tok::kInt, begin, end);
  token_.overflow = token_.wide = false;
  if (*begin == '-') {
    token_.overflow = std::from_chars(begin, end, token_.value).ec != std::errc();
    return;
  }
  uint64_t value = 0;
  token_.overflow = std::from_chars(begin, end, value).ec != std::errc();
  token_.wide = value > static_cast<uint64_t>(INT64_MAX);
  token_.value = static_cast<int64_t>(value);
}

// -?(D+ | D+.D* | D*.D+)[eE][+-]?D+ or -?(D+.D* | D*.D+)
bool Lexer::DecimalAt(const char* begin) {
  const char* at = begin + (*begin == '-');
  const char* whole = SkipDigits(at);
  const char* end = nullptr;
  const char* mantissa = whole > at ? whole : nullptr;
  if (*whole == '.') {
    const char* fraction = SkipDigits(whole + 1);
    if (whole > at || fraction > whole + 1) mantissa = end = fraction;
  }
  if (mantissa != nullptr && (*mantissa == 'e' || *mantissa == 'E')) {
    const char* exponent = mantissa + 1;
    if (*exponent == '+' || *exponent == '-') ++exponent;
    const char* digits = SkipDigits(exponent);
    if (digits > exponent) end = digits;
  }
  if (end == nullptr) return false;
  Finish(Tok::kDec, begin, end);
  return true;
}

void Lexer::Number(const char* begin) {
  const char* at = begin + (*begin == '-');
  const char* digits = SkipDigits(at);
  if (digits > at && !IsIdentByte(*digits) && *digits != '?') return Integer(begin, digits);
  if (DecimalAt(begin)) return;
  if (const char* end = MatchDimLabels(begin)) return Finish(Tok::kDimLabels, begin, end);
  if (digits > at) {
    if (*begin != '-') {
      if (const char* end = MatchDxd(begin)) return Finish(Tok::kDxd, begin, end);
    }
    if (const char* end = MatchPad(begin)) return Finish(Tok::kPad, begin, end);
    return Integer(begin, digits);
  }
  if (std::strncmp(at, "inf", 3) == 0) return Finish(Tok::kNegInf, begin, at + 3);
  if (std::strncmp(at, "nan", 3) == 0) return Nan(begin, at + 3);
  Fail(begin, begin + 1, "expected a number after `-`");
}

// An optional payload: `(0x1f)` without blanks.
void Lexer::Nan(const char* begin, const char* after) {
  if (after[0] != '(' || after[1] != '0' || after[2] != 'x') return Finish(Tok::kDec, begin, after);
  const char* at = after + 3;
  while (IsDigit(*at) || (*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F')) ++at;
  if (at == after + 3 || *at != ')') return Finish(Tok::kDec, begin, after);
  Finish(Tok::kDec, begin, at + 1);
}

void Lexer::String(const char* begin) {
  const char quote = *begin;
  const char* at = begin + 1;
  // Most strings have no backslash: three searches by the library.
  if (const auto* end =
          static_cast<const char*>(std::memchr(at, quote, static_cast<size_t>(end_ - at)));
      end != nullptr) {
    const auto size = static_cast<size_t>(end - at);
    if (std::memchr(at, '\\', size) == nullptr && std::memchr(at, '\0', size) == nullptr)
      return Finish(Tok::kString, begin, end + 1);
  }
  while (at < end_ && *at != quote) {
    if (*at == '\0') return Fail(at, at + 1, "a NUL byte in the text");
    if (*at == '\\') {
      if (at[1] == '\n') return Fail(begin, at, "a line ends after a backslash inside this string");
      ++at;
    }
    ++at;
  }
  if (at >= end_) {
    Fail(begin, begin + 1, "this string does not end");
    at_ = end_;
    return;
  }
  Finish(Tok::kString, begin, at + 1);
}

}  // namespace hlo
