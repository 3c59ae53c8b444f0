// index.html and index.json of --ir-dump-directory: the passes of each module with their times,
// what they did to the number of instructions, and the files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "passes/pass_manager.h"

namespace hlo {

struct DumpedModule {
  std::string name;
  std::string first_dump;
  std::vector<PassRun> runs;
};

absl::Status WriteDumpIndex(const std::string& folder, const std::vector<DumpedModule>& modules);

}  // namespace hlo
