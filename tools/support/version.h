// The version of the programs, all of which are of one.
#pragma once

#include <string_view>

namespace hlo {

std::string_view ProgramVersion();  // "0.1"
// The month of the source tree of XLA whose text is read and printed: "2026-08".
std::string_view XlaSyntaxDate();

}  // namespace hlo
