// `hlo-reduce FILE --extract=NAME` and `--extract-each-fusion`: parts of a module as modules,
// without a search.
#pragma once

#include "tools/reduce/options.h"

namespace hlo {

// Whether the options ask for that.
bool WantsParts(const ReduceOptions& options);

// Writes them (--output: the file, or of each fusion the folder) and returns the exit code.
int ExtractParts(const ReduceOptions& options);

}  // namespace hlo
