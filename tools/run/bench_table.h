// `hlo-run --bench --platforms=A,B --against=FILE,…`: several platforms, or files, in one table.
// They are measured in turns, so that what else the machine does falls on all of them alike; each
// is compared with the first.
#pragma once

#include "tools/run/options.h"

namespace hlo {

// Whether the options ask for such a table.
bool WantsBenchTable(const ToolOptions& options);

// Prints it (--csv: as CSV; --json=FILE writes it, too) and returns the exit code.
int RunBenchTable(const ToolOptions& options);

}  // namespace hlo
