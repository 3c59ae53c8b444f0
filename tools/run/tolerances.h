// What --tolerance= says of outputs:
//
//   1e-3,1e-5            relative and absolute, as NumPy's rtol and atol
//   abs=1e-5,ulps=4      by name; what is not named is 0
//   exact, ignore        every bit of a number; not at all
//   auto                 from the operations that compute it (auto_tolerance.h)
//
// In front of it `OUT:`, the number of the output that it is for; without it, all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lib/ir/module.h"
#include "tools/run/options.h"
#include "tools/support/compare_values.h"

namespace hlo {

// "" or what is wrong with a value of the flag.
std::string ToleranceMistake(const std::string& word);

// How the outputs of `module` are compared, one rule for each array leaf. An output that is not
// there is an error.
absl::StatusOr<std::vector<OutputRule>> OutputRules(const ToolOptions& options,
                                                    const Module& module);

}  // namespace hlo
