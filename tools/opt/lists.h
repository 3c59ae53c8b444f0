// What hlo-opt lists: passes, opcodes, types, stages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hlo {

// One line, sorted, with commas between: as XLA's.
std::string PassNames();
// Passes and pipelines whose names contain `part`, with summaries, options and defaults, and the
// pipelines that a pass is part of.
std::string PassTable(std::string_view part);
std::string OpTable();
std::string TypeTable();

// A stage of compilation under XLA's name. `hlo` is what the platform's passes leave; the others
// are what `hlo-run --emit=` shows.
struct StageInfo {
  std::string_view name;
  std::string_view emit;  // of hlo-run; empty: hlo-opt's own
  bool transforms = false;
};
// The row of this name for the platform, or nothing.
std::optional<StageInfo> FindStage(std::string_view name, std::string_view platform);
// One name a line.
std::string StageNames(std::string_view platform);

}  // namespace hlo
