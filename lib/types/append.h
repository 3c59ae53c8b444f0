// lib/types/append.h
//
// Appending numbers to text without temporaries; what printing of shapes, literals and attribute
// values is made of.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/support/strings.h"

namespace hlo {

// Decimal text of an integer.
template <class I>
void AppendInt(I value, std::string& out) {
  if (value >= 0 && value < 10) {
    out += static_cast<char>('0' + static_cast<int>(value));
    return;
  }
  char buffer[24];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out.append(buffer, result.ptr - buffer);
}

// "1,2,3"; written through a buffer, as most lists are long or have short numbers.
template <class Range>
void AppendInts(const Range& values, std::string& out, char separator = ',') {
  char buffer[128];
  char* at = buffer;
  for (const auto value : values) {
    if (buffer + sizeof(buffer) - at < 24) {
      out.append(buffer, static_cast<size_t>(at - buffer));
      at = buffer;
    }
    if (value >= 0 && value < 10) {
      *at++ = static_cast<char>('0' + static_cast<int>(value));
    } else {
      at = std::to_chars(at, buffer + sizeof(buffer), value).ptr;
    }
    *at++ = separator;
  }
  // The last separator is one too many.
  if (at > buffer) out.append(buffer, static_cast<size_t>(at - 1 - buffer));
}

namespace internal {

#ifdef __SSE2__
// Whether the 16 bytes at `at` are plain in the sense of IsPlain.
inline bool ArePlain16(const char* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const auto is = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  const __m128i offset = _mm_sub_epi8(bytes, _mm_set1_epi8(' '));
  const __m128i printable = _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8('~' - ' ')), offset);
  const __m128i odd = _mm_or_si128(is('\\'), _mm_or_si128(is('"'), is('\'')));
  return _mm_movemask_epi8(_mm_andnot_si128(odd, printable)) == 0xffff;
}
#endif

// Whether every byte is printable ASCII and neither a quote nor a backslash; many at a time.
inline bool IsPlain(std::string_view text) {
#ifdef __SSE2__
  if (text.size() >= 16) {
    const char* const last = text.data() + text.size() - 16;
    for (const char* part = text.data(); part < last; part += 16) {
      if (!ArePlain16(part)) return false;
    }
    return ArePlain16(last);
  }
#endif
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  // The high bit of each byte of the result is set where the byte of `word` is zero (and perhaps
  // above such a byte).
  const auto zeros = [](uint64_t word) { return (word - kOnes) & ~word & kHighs; };
  const auto odd = [&](uint64_t word) {
    // Below 0x20: no bit of 0x60; 0x7f: all bits of it.
    return (word & kHighs) | zeros(word & (kOnes * 0x60)) | zeros(word ^ (kOnes * 0x7f)) |
           zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\'')) |
           zeros(word ^ (kOnes * '\\'));
  };
  const char* at = text.data();
  size_t left = text.size();
  uint64_t found = 0, word = 0;
  for (; left >= 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    found |= odd(word);
  }
  word = kOnes * 'a';
  std::memcpy(&word, at, left);
  return (found | odd(word)) == 0;
}

}  // namespace internal

// The text in double quotes, C-escaped. Plain text, the usual case, is copied whole.
inline void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  if (internal::IsPlain(text)) {
    out += text;
  } else {
    out += CEscape(text);
  }
  out += '"';
}

// The text in double quotes as it stands, as XLA prints some names; escaped only where it would not
// read back.
inline void AppendQuotedRaw(std::string_view text, std::string& out) {
  out += '"';
  if (text.find_first_of("\"\\") == std::string_view::npos) {
    out += text;
  } else {
    out += CEscape(text);
  }
  out += '"';
}

}  // namespace hlo
