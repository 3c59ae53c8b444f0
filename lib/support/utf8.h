// Texts that others demand to be UTF-8; a module may hold any bytes.
#pragma once

#include <string>
#include <string_view>

namespace hlo {

// The text with the replacement character for each byte that belongs to no character of UTF-8.
std::string AsUtf8(std::string_view text);

}  // namespace hlo
