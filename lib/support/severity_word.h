// "error", "warning", "note": a severity as messages have it.
#pragma once

#include <string_view>

#include "lib/support/diagnostic.h"

namespace hlo {

std::string_view Word(Severity severity);

}  // namespace hlo
