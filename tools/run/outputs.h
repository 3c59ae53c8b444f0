// Results of a run: printed as HLO literals, or written as .npy files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "lib/types/literal.h"
#include "tools/run/options.h"

namespace hlo {

// The text of a result. Short: arrays of more than 100 elements show the first ones and their
// statistics.
std::string OutputText(const Literal& result, PrintOutputs how);
// Writes the array leaves as `directory`/out0.npy, out1.npy, …; makes the folder. After a failure
// none of the new files is left.
// Whether WriteOutputs could write there; makes the folder.
absl::Status CheckOutputFolder(const std::string& directory);
absl::Status WriteOutputs(const Literal& result, const std::string& directory);

}  // namespace hlo
