// Results of a run: printed as HLO literals, or written as .npy files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/types/literal.h"
#include "tools/run/options.h"

namespace hlo {

// The text of a result. Short: arrays of more than 100 elements show the first ones and their
// statistics.
std::string OutputText(const Literal& result, PrintOutputs how);
// Elements of an array that are NaN, of a complex one in a part of them.
int64_t CountNans(const Literal& array);
// Whether WriteArrays could write there; makes the folder.
absl::Status CheckOutputFolder(const std::string& directory);
// Writes the array leaves of all values as `directory`/PREFIX0.npy, PREFIX1.npy, …, or from another
// `first` number on; makes the folder. After a failure none of the new files is left.
absl::Status WriteArrays(absl::Span<const Literal> values, const std::string& directory,
                         std::string_view prefix, int64_t first = 0);

}  // namespace hlo
