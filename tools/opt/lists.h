// What hlo-opt lists: passes, opcodes, types, stages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/platforms.h"

namespace hlo {

// One line, sorted, with commas between: as XLA's.
std::string PassNames();
// Passes and pipelines in whose names the regular expression is found, with summaries, options and
// defaults, and the pipelines that a pass is part of. An error when there is none.
absl::StatusOr<std::string> PassTable(const std::string& pattern);
std::string OpTable();
std::string TypeTable();

// The platforms, and `transforms`, which is none: the module is taken as it is.
const PlatformInfo* FindOptPlatform(std::string_view name);
std::vector<std::string_view> OptPlatformNames();

// A stage of compilation under XLA's name.
struct StageInfo {
  std::string_view name;
  std::string_view form;       // of the module after the platform's passes: a word of --emit; or
  std::string_view run_emit;   // what hlo-run --emit= shows of the module before them
  std::string_view head = "";  // a line in front
};
// The row of this name for the platform, or null.
const StageInfo* FindStage(std::string_view name, const PlatformInfo& platform);
std::vector<std::string_view> StageNames(const PlatformInfo& platform);

}  // namespace hlo
