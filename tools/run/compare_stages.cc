#include "tools/run/compare_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/inputs.h"
#include "tools/support/compare_values.h"
#include "tools/support/elided.h"
#include "tools/support/equivalence.h"
#include "tools/support/progress.h"
#include "tools/support/random_arguments.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

struct StageName {
  std::string module;  // "module_0000.jit_f"
  int64_t place = 0;
};

// Nothing where the name is not that of a module after a step.
std::optional<StageName> StageOf(std::string_view name) {
  std::string_view stem = name;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (stem.ends_with(packed)) stem.remove_suffix(packed.size());
  }
  if (!stem.ends_with(".txt") && !stem.ends_with(".hlo")) return std::nullopt;
  stem.remove_suffix(4);
  if (const size_t at = stem.find(".before_optimization"); at != std::string_view::npos)
    return StageName{std::string(stem.substr(0, at)), -1};
  if (stem.ends_with("after_optimizations")) {
    return StageName{std::string(stem.substr(0, stem.rfind('.'))),
                     std::numeric_limits<int64_t>::max()};
  }
  // The last part of four or more digits: the first one is the module's.
  const std::vector<std::string_view> parts = Split(stem, '.');
  for (size_t i = parts.size() - 1; i > 0; --i) {
    const std::string_view part = parts[i];
    if (part.size() < 4 || part.size() > 9 ||
        part.find_first_not_of("0123456789") != std::string_view::npos)
      continue;
    return StageName{
        Join(std::vector<std::string_view>(parts.begin(), parts.begin() + static_cast<int64_t>(i)),
             "."),
        std::stoll(std::string(part))};
  }
  return std::nullopt;
}

class StageRuns {
 public:
  explicit StageRuns(const ToolOptions& options)
      : options_(options),
        seed_(options.seed_value.value_or(kDefaultSeed)),
        progress_(options.show_progress) {}

  absl::StatusOr<int> Run() {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, StageFiles(options_.compare_stages));
    size_t width = 0;
    for (const std::string& file : files) width = std::max(width, NameOfStage(file).size());
    for (const std::string& file : files) {
      progress_.Stage("running " + NameOfStage(file));
      const std::string verdict = One(file);
      progress_.Stage("");
      WriteStdout(fmt::format("{:<{}}  {}\n", NameOfStage(file), width, verdict));
    }
    if (runs_ < 2) {
      WriteStderr("hlo-run: fewer than two steps could be run: nothing was compared\n");
      return kExitUnsupported;
    }
    if (!first_.empty()) WriteStdout(fmt::format("values change first in {}\n", first_));
    return first_.empty() ? kExitOk : kExitMismatch;
  }

 private:
  static std::string NameOfStage(const std::string& file) {
    return std::filesystem::path(file).filename();
  }

  // What is to be said of one step.
  std::string One(const std::string& file) {
    absl::StatusOr<std::string> verdict = Compare(file);
    if (verdict.ok()) return *std::move(verdict);
    std::string message = DiagnosticsOf(verdict.status()).front().message;
    return "not run: " + message.substr(0, message.find('\n'));
  }

  absl::StatusOr<std::string> Compare(const std::string& file) {
    ASSIGN_OR_RETURN(const std::vector<InputText> inputs, ReadInputs(file, /*split=*/false));
    const std::string text(inputs.front().source->text());
    if (runs_ > 0 && text == text_) return "the same text";
    ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, LoadModule(inputs.front(), Runnable()));
    RETURN_IF_ERROR(FillElided(*module, options_.fill_elided).status());
    if (runs_ == 0) RETURN_IF_ERROR(MakeInputs(*module));
    EquivalenceOptions limits;
    limits.max_loop_iterations = options_.max_loop_iterations;
    ASSIGN_OR_RETURN(std::vector<Literal> results,
                     RunOnInterpreter(*module, seed_, arguments_, limits));
    std::string said = "first one that runs";
    if (runs_ > 0) said = Difference(results, NameOfStage(file));
    ++runs_;
    text_ = text;
    results_ = std::move(results);
    return said;
  }

  absl::Status MakeInputs(const Module& module) {
    InputSources sources;
    sources.words = options_.inputs;
    sources.directory = options_.input_dir;
    sources.model_file = options_.inputs_from;
    sources.seed = seed_;
    sources.distributions = options_.input_dists;
    sources.ranges = options_.input_ranges;
    ASSIGN_OR_RETURN(Arguments arguments, MakeArguments(module, sources));
    arguments_ = std::move(arguments.values);
    for (const std::string& note : arguments.notes) WriteNote("hlo-run: note: " + note + "\n");
    return absl::OkStatus();
  }

  std::string Difference(const std::vector<Literal>& results, const std::string& name) {
    std::optional<Tolerance> tolerance;
    if (options_.has_tolerance()) tolerance = options_.tolerance();
    if (results.size() != results_.size()) return "runs on another number of devices";
    for (size_t device = 0; device < results.size(); ++device) {
      const Verdict verdict = CompareOutputs(results[device], results_[device], tolerance);
      if (verdict.ok) continue;
      if (first_.empty()) first_ = name;
      std::string report = verdict.report;
      while (report.ends_with('\n')) report.pop_back();
      return "DIFFERS\n" + report;
    }
    return "agrees";
  }

  const ToolOptions& options_;
  const uint64_t seed_;
  Progress progress_;
  std::vector<Literal> arguments_, results_;  // results by device, of the last step that ran
  std::string text_, first_;
  int64_t runs_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> StageFiles(const std::string& folder) {
  std::error_code error;
  std::map<std::string, std::map<std::pair<int64_t, std::string>, std::string>> modules;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (const std::optional<StageName> stage = StageOf(name))
      modules[stage->module].emplace(std::pair(stage->place, name), entry.path());
  }
  if (error) return Error("cannot read folder `{}`: {}", folder, error.message());
  std::vector<std::string> names;
  for (const auto& [name, files] : modules) names.push_back(name);
  if (modules.size() > 1) {
    return Error("`{}` holds the steps of {} modules: {}; keep those of one in a folder", folder,
                 modules.size(), fmt::join(names, ", "));
  }
  std::vector<std::string> files;
  for (const auto& [name, stages] : modules) {
    for (const auto& [place, path] : stages) files.push_back(path);
  }
  if (files.size() < 2) {
    return Error("`{}` holds {} of the files of steps that are compared; there must be two", folder,
                 files.empty() ? "none" : "one");
  }
  return files;
}

int CompareStages(const ToolOptions& options) {
  const absl::StatusOr<int> code = StageRuns(options).Run();
  return code.ok() ? *code : ReportToolError("hlo-run", code.status());
}

}  // namespace hlo
