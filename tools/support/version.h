// The version of the programs, all of which are of one.
#pragma once

#include <string_view>

namespace hlo {

std::string_view ProgramVersion();  // "0.1"

}  // namespace hlo
