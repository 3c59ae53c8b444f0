// Which step of a compilation changed values: runs the modules that a folder holds after each step,
// as XLA's --xla_dump_hlo_pass_re and our --ir-dump-directory number them, on the interpreter with
// the same inputs, and compares each with the one before.
//
//   module_0000.jit_f.before_optimizations.txt
//   module_0000.jit_f.0001.simplification.after_algsimp.before_dce.txt
//   module_0000.jit_f.cpu_after_optimizations.txt
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/run/options.h"

namespace hlo {

// The files of the steps in order. An error: there are fewer than two, or those of several modules.
absl::StatusOr<std::vector<std::string>> StageFiles(const std::string& folder);

// Prints a line for each step; returns the exit code: 3 where a step changed values, 5 where no two
// steps could be run.
int CompareStages(const ToolOptions& options);

}  // namespace hlo
