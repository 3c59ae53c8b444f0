#include "tools/run/emitted_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends/registry.h"
#include "lib/support/contains.h"
#include "lib/support/file.h"
#include "lib/support/file_set.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

std::string_view Word(EmitStage stage) {
  for (const StageWord& row : kStageWords) {
    if (row.stage == stage) return row.word;
  }
  return "";
}

bool IsTextOfKernel(EmitStage stage) {
  return stage == EmitStage::kTile || stage == EmitStage::kLlvm || stage == EmitStage::kAsm;
}

std::string_view ExtensionOf(EmitStage stage) {
  if (stage == EmitStage::kLlvm) return "ll";
  if (stage == EmitStage::kAsm) return "s";
  return stage == EmitStage::kPtx ? "ptx" : "txt";
}

std::string FileOf(const std::string& folder, std::string_view name, EmitStage stage) {
  return fmt::format("{}/{}.{}.{}", folder, name, Word(stage), ExtensionOf(stage));
}

}  // namespace

void EmittedTexts::AddTo(CompileOptions& compile, std::vector<EmitStage> stages,
                         const std::string& kernel) {
  if (!kernel.empty()) kernel_.emplace(kernel);
  compile.emit = std::move(stages);
  compile.emit_sink = [this](EmitStage stage, std::string_view text) { Take(stage, text); };
}

void EmittedTexts::Take(EmitStage stage, std::string_view text) {
  std::string& all = texts_[stage];  // there, if empty
  if (kernel_ && IsTextOfKernel(stage)) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::string name(line.substr(line.find(' ') + 1));  // after the mark of a comment
    if (!std::regex_search(name, *kernel_)) {
      if (!Contains(others_, name)) others_.push_back(std::move(name));
      return;
    }
  }
  all += text;
}

absl::Status EmittedTexts::Show(const ToolOptions& options) const {
  for (const EmitStage stage : options.emit_stages) {
    const auto text = texts_.find(stage);
    if (text == texts_.end())
      return Error("platform `{}` has no stage `{}`", options.platform, Word(stage));
    if (kernel_ && IsTextOfKernel(stage) && text->second.empty()) {
      return Error("no kernel matches `{}`; there are: {}", options.kernel,
                   others_.empty() ? "none" : Join(others_, ", "));
    }
    if (options.emit_stages.size() > 1) WriteStdout(fmt::format("// ---- {}\n", Word(stage)));
    WriteStdout(text->second);
    if (!text->second.empty() && text->second.back() != '\n') WriteStdout("\n");
  }
  return absl::OkStatus();
}

absl::Status EmittedTexts::Save(const std::string& folder, std::string_view name) const {
  RETURN_IF_ERROR(MakeFolder(folder));
  FileSet files;
  for (const auto& [stage, text] : texts_) {
    RETURN_IF_ERROR(files.Add(FileOf(folder, name, stage), text));
  }
  return files.Commit();
}

std::vector<EmitStage> StagesToSave(std::string_view platform, std::optional<EmitStage> start) {
  std::vector<EmitStage> stages;
  for (const StageWord& row : kStageWords) {
    const bool is_there = IsListed(FindPlatform(platform)->stages, row.word);
    if (is_there && !NeedsNvidiaTools(row.stage)) stages.push_back(row.stage);
  }
  if (start) stages.erase(stages.begin(), std::find(stages.begin(), stages.end(), *start) + 1);
  return stages;
}

std::string NameOfTemps(const std::string& path) {
  return path == "-" ? "stdin" : std::filesystem::path(path).stem().string();
}

absl::StatusOr<StageText> ReadSaved(const std::string& folder, std::string_view name,
                                    EmitStage stage) {
  StageText text{stage, FileOf(folder, name, stage), {}};
  ASSIGN_OR_RETURN(text.text, ReadFile(text.file));
  return text;
}

}  // namespace hlo
