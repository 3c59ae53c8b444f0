// A finding in a valid module made smaller with the steps of tools/reduce/.
#pragma once

#include <string>
#include <string_view>

#include "tools/fuzz/fuzz_mode.h"

namespace hlo {

// A smaller module with a finding of the same class (the text before the first `:`), in at most
// `seconds`; what can be written beside it is in its first lines. Empty when `input` is no module
// or does not show the finding again. Progress is kept in `path`.
std::string ReduceFinding(const FuzzMode& mode, const std::string& input, std::string_view finding,
                          const std::string& path, double seconds);

}  // namespace hlo
