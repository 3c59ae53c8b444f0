// `--custom-call=NAME=identity|zeros|@LIBRARY`: a meaning for custom calls that nobody
// knows, so that modules that hold them can be run and measured. Results then mean what the
// user says they do.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Replaces the custom calls of each target that `meanings` name by their operands, one for each
// part of the result (`identity`), or by zeros of the shape of the result; or loads the library
// that computes them (lib/eval/ffi_library.h).
absl::Status GiveMeanings(Module& module, const std::vector<std::string>& meanings);

// A usage error for words that are no meanings.
absl::Status CheckMeanings(const std::vector<std::string>& meanings);

}  // namespace hlo
