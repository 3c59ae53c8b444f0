// Keeps messages readable: names, shapes and numbers that a message quotes may be megabytes long.
#pragma once

#include <string>

namespace hlo {

// `message` with the middle left out of its very long words and parts in backticks (`abc...xyz`).
std::string ClipQuotes(std::string message);

}  // namespace hlo
