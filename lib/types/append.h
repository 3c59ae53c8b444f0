// lib/types/append.h
//
// Appending numbers to text without temporaries; what printing of shapes, literals and attribute
// values is made of.
#pragma once

#include <charconv>
#include <cstdint>
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

// "1,2,3"
template <class Range>
void AppendInts(const Range& values, std::string& out, char separator = ',') {
  bool first = true;
  for (const auto value : values) {
    if (!first) out += separator;
    first = false;
    AppendInt(value, out);
  }
}

// The text in double quotes, C-escaped. Plain text, the usual case, is copied whole.
inline void AppendQuoted(std::string_view text, std::string& out) {
  bool plain = true;
  for (const char c : text) {
    plain = plain && c >= ' ' && c <= '~' && c != '"' && c != '\'' && c != '\\';
  }
  out += '"';
  if (plain) {
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
