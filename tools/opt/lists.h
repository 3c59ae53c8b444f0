// What hlo-opt lists: passes, opcodes, types, stages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

// One line, sorted, with commas between: as XLA's.
std::string PassNames();
// Passes and pipelines in whose names the regular expression is found, with summaries, options and
// defaults, and the pipelines that a pass is part of. An error when there is none.
absl::StatusOr<std::string> PassTable(const std::string& pattern);
std::string OpTable();
std::string TypeTable();

// A platform whose passes and stages hlo-opt knows.
struct OptPlatform {
  std::string_view name;
  std::string_view aliases;   // separated by commas
  std::string_view pipeline;  // a named one (pipelines.h); empty: the module is taken as it is
};
// The row of this name or alias, or null.
const OptPlatform* FindOptPlatform(std::string_view name);
std::vector<std::string_view> OptPlatformNames();

// A stage of compilation under XLA's name.
struct StageInfo {
  std::string_view name;
  std::string_view platforms;  // separated by commas; empty: all
  std::string_view form;       // of the module after the platform's passes: a word of --emit; or
  std::string_view run_emit;   // what hlo-run --emit= shows of the module before them
  std::string_view head = "";  // a line in front
};
// The row of this name for the platform (its own name), or null.
const StageInfo* FindStage(std::string_view name, std::string_view platform);
std::vector<std::string_view> StageNames(std::string_view platform);

}  // namespace hlo
