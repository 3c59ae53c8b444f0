// What two dumps of equal modules need to become equal texts: no parts that say nothing of what is
// computed (`--strip=`). Names that follow from the structure: PrintOptions::Canonical.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// The words of --strip.
std::vector<std::string_view> StrippableParts();
// Removes those of `words` (separated by commas) from all instructions.
void StripParts(Module& module, std::string_view words);

}  // namespace hlo
