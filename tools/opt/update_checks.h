// --update-checks: CHECK lines of lit tests, written from what the tool prints.
//
// A file has a line `RUN: hlo-opt %s FLAGS | FileCheck %s` and sections separated by `// -----`;
// comments at the top of a section say why the case exists. Old CHECK lines are dropped, each
// section is run alone, and new ones are put below its comments; names become captures. A line
// marks files that were written so; without it a file with CHECK lines is left alone.
#pragma once

#include <string>
#include <vector>

namespace hlo {

// The exit code. `words` are the flags of the command line: with any of them the RUN line is made
// from these, else it must be there. A file is written whole or not at all.
int UpdateChecks(const std::vector<std::string>& paths, const std::vector<std::string>& words);

}  // namespace hlo
