// Splits HLO text into tokens, one at a time, without copying. Also gives the raw cursor to the
// parts of the parser that read long lists (integers, literals, metadata) character by character.
//
// Invariant: cursor() stands right after the current token. The text ends in a NUL that is not
// part of it, so that looking at the byte under the cursor is always allowed.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <string_view>

#include "parser/token.h"

namespace hlo {

// Of a decimal number.
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

namespace internal {

// Bytes that may stand inside an identifier.
struct IdentBytes {
  bool in[256] = {};
  constexpr IdentBytes() {
    for (int c = 'a'; c <= 'z'; ++c) in[c] = true;
    for (int c = 'A'; c <= 'Z'; ++c) in[c] = true;
    for (int c = '0'; c <= '9'; ++c) in[c] = true;
    in['_'] = in['.'] = in['-'] = true;
  }
};
inline constexpr IdentBytes kIdentBytes;

#ifdef __SSE2__
// Bit i is set when byte i of the 16 at `at` is none of IdentBytes.
inline unsigned OtherThanIdentBytes(const char* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  // first, first + 1, …, first + count - 1
  const auto in_range = [](__m128i x, char first, char count) {
    const __m128i offset = _mm_sub_epi8(x, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(static_cast<char>(count - 1))),
                          offset);
  };
  const __m128i letters = in_range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 26);
  const __m128i digits = in_range(bytes, '0', 10);
  const __m128i minus_and_dot = in_range(bytes, '-', 2);
  const __m128i underscores = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('_'));
  const __m128i all =
      _mm_or_si128(_mm_or_si128(letters, digits), _mm_or_si128(minus_and_dot, underscores));
  return static_cast<unsigned>(_mm_movemask_epi8(all)) ^ 0xffff;
}
#endif
}  // namespace internal

class Lexer {
 public:
  // `text` is followed by a NUL byte and outlives the lexer.
  explicit Lexer(std::string_view text)
      : base_(text.data()), end_(text.data() + text.size()), at_(base_) {
    // A byte order mark is no part of the text.
    if (text.starts_with("\xEF\xBB\xBF")) at_ += 3;
  }

  const Token& token() const { return token_; }
  Tok kind() const { return token_.kind; }
  // Moves to the next token.
  void Next();

  // The byte after the current token.
  const char* cursor() const { return at_; }
  const char* end() const { return end_; }
  // Continues at `at`; the current token is stale until Next().
  void set_cursor(const char* at) { at_ = at; }
  uint32_t OffsetOf(const char* at) const { return static_cast<uint32_t>(at - base_); }
  const char* At(uint32_t offset) const { return base_ + offset; }

  // The first byte at or after `at` that is neither blank nor in a comment. An unterminated comment
  // gives its own start.
  const char* SkipBlanks(const char* at) const {
    while (true) {
      const char c = *at;
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at;
      } else if (c == '/' && (at[1] == '*' || at[1] == '/')) {
        const char* next = SkipComment(at);
        if (next == at) return at;
        at = next;
      } else {
        return at;
      }
    }
  }
  // The token after the current one, without moving.
  Token Peek() const {
    Lexer ahead = *this;
    ahead.Next();
    return ahead.token_;
  }
  // The first byte of the next token.
  char PeekByte() const { return *SkipBlanks(at_); }
  // One past the `}` that matches the `{` at `open`, reading the inside as JSON text; null if there
  // is none.
  const char* SkipJsonDict(const char* open) const;

  static bool IsIdentByte(char c) {
    return internal::kIdentBytes.in[static_cast<unsigned char>(c)];
  }
  static bool IsIdentStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  // The first byte at or after `at` that cannot stand inside an identifier.
  const char* IdentEnd(const char* at) const {
#ifdef __SSE2__
    while (end_ - at >= 16) {
      const unsigned others = internal::OtherThanIdentBytes(at);
      if (others != 0) return at + std::countr_zero(others);
      at += 16;
    }
#endif
    while (IsIdentByte(*at)) ++at;
    return at;
  }

 private:
  const char* SkipComment(const char* at) const;
  void Finish(Tok kind, const char* begin, const char* end);
  void Identifier(const char* begin);
  void Number(const char* begin);
  void Integer(const char* begin, const char* end);
  bool DecimalAt(const char* begin);
  void Nan(const char* begin, const char* after);
  void String(const char* begin);
  void Fail(const char* begin, const char* end, std::string_view problem = {});

  const char* base_;
  const char* end_;
  const char* at_;
  Token token_;
};

// The end of a dim-labels pattern (`b01f_01io->b01f`) that starts at `at`, or null.
const char* MatchDimLabels(const char* at);

}  // namespace hlo
