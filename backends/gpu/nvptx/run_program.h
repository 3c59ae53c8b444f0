// NVIDIA's programs, run as processes on files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::gpu {

// Runs a program (a path, and its arguments) with what it says in the file `log`; gives its exit
// status.
absl::StatusOr<int> RunProgram(const std::vector<std::string>& words, const std::string& log);

}  // namespace hlo::gpu
