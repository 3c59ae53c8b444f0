// The texts of a compilation, and what becomes of them: printed, or each a file.
#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "tools/run/options.h"

namespace hlo {

class EmittedTexts {
 public:
  // Makes `compile` give the texts of these stages here, which must outlive the compilation.
  // `kernel`: a regular expression; of the stages that are a text for each kernel, which names it
  // in its first line, only those that match. Empty: all.
  void AddTo(CompileOptions& compile, std::vector<EmitStage> stages,
             const std::string& kernel = "");

  // --emit: in the order they were asked for; a stage that is not there, or has no such kernel, is
  // an error.
  absl::Status Show(const ToolOptions& options) const;
  // --save-temps: FOLDER/NAME.STAGE.EXTENSION of each stage that the platform has, all or none:
  //   add.hlo.txt add.buffers.txt add.thunks.txt add.tile.txt add.llvm.ll add.asm.s
  absl::Status Save(const std::string& folder, std::string_view name) const;

 private:
  void Take(EmitStage stage, std::string_view text);

  std::map<EmitStage, std::string> texts_;
  std::optional<std::regex> kernel_;
  std::vector<std::string> others_;  // kernels that do not match
};

// The stages that a platform has after `start` (or all), in the order of compilation. Those that
// need NVIDIA's tools are left out.
std::vector<EmitStage> StagesToSave(std::string_view platform, std::optional<EmitStage> start);

// The name under which Save writes the texts of a file, "-" among them.
std::string NameOfTemps(const std::string& path);

// The text that Save wrote, to start from.
absl::StatusOr<StageText> ReadSaved(const std::string& folder, std::string_view name,
                                    EmitStage stage);

}  // namespace hlo
