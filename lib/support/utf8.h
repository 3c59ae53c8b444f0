// Texts that others demand to be UTF-8; a module may hold any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hlo {

// The text with the replacement character for each byte that belongs to no character of UTF-8.
std::string AsUtf8(std::string_view text);
// Appends the bytes of a character; false, and nothing appended, for a number that is none: a half
// of a surrogate pair, or beyond U+10FFFF.
bool AppendUtf8(uint32_t code, std::string& out);

}  // namespace hlo
