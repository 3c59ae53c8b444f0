// Runs many checks (check_case.h), each in a process of its own, so that one that crashes or hangs
// fails alone.
#pragma once

#include <string>
#include <vector>

#include "tools/run/options.h"

namespace hlo {

// Checks files, or all files of folders (.hlo, or .json for --check-models), on the platforms of
// --platforms. Prints a line for each failure and at the end "N passed, N failed, N skipped". Exit
// code 0, or 3 when a check failed.
int CheckFiles(const ToolOptions& options, const std::vector<std::string>& paths);

}  // namespace hlo
