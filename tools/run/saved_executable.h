// `hlo-run --save-executable=FILE`, and running such a file (backends/executable_file.h).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/executable_file.h"
#include "tools/run/options.h"

namespace hlo {

// Reads a file, and makes `options` those of its compilation. What the user asks for that cannot be
// had of it is an error: other passes, another platform.
absl::StatusOr<SavedExecutable> OpenSaved(std::string_view bytes, ToolOptions& options);

// Writes the executable that was compiled with `options`, and says what is in the file.
absl::StatusOr<std::string> SaveExecutable(const Executable& executable, const Backend& backend,
                                           const CompileOptions& options, const std::string& path);

}  // namespace hlo
