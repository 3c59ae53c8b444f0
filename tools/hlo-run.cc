// hlo-run: compiles and executes HLO modules, compares and measures. See tools/run/ for the parts.
#include "backends/doctor.h"
#include "backends/registry.h"
#include "tools/run/bench_table.h"
#include "tools/run/check_files.h"
#include "tools/run/compare_stages.h"
#include "tools/run/memory_limit.h"
#include "tools/run/old_names.h"
#include "tools/run/peaks.h"
#include "tools/run/run_module.h"
#include "tools/support/gpu_target.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

int MeasurePeaks(const ToolOptions& options) {
  CompileOptions compile;
  compile.threads = static_cast<int>(options.threads);
  compile.cpu_features = options.cpu_features;
  absl::StatusOr<Backend*> backend = FindBackend(options.platform);
  if (!backend.ok()) return ReportToolError("hlo-run", backend.status());
  const absl::StatusOr<Peaks> peaks =
      MeasurePeaks(**backend, compile, {ElementType::kS8, ElementType::kBF16});
  if (!peaks.ok()) return ReportToolError("hlo-run", peaks.status());
  WriteStdout(ToString(*peaks, options.platform));
  return kExitOk;
}

int Main(int argc, char** argv) {
  Flags flags("hlo-run", "[options] FILE [INPUT...]", "compile and execute an HLO module");
  ToolOptions options;
  AddFlags(flags, options);
  flags.VersionNotes(
      [] { return VersionLines() + fmt::format("default platform: {}\n", DefaultPlatform()); });
  return ToolMain(flags, argc, argv, [&] {
    if (const absl::Status status = Check(flags, options); !status.ok()) {
      ReportToolError("hlo-run", status);
      return static_cast<int>(kExitUsage);
    }
    if (options.list_platforms) {
      for (const PlatformInfo& info : AllBackends()) WriteStdout(std::string(info.name) + "\n");
      return static_cast<int>(kExitOk);
    }
    if (options.list_targets) {
      WriteStdout(GpuTargetList());
      return static_cast<int>(kExitOk);
    }
    if (options.doctor) {
      WriteStdout(DoctorReport());
      return static_cast<int>(kExitOk);
    }
    if (options.measure_peaks) return MeasurePeaks(options);
    if (options.verbose) {
      for (const std::string& text : flags.unused())
        WriteNote(fmt::format("hlo-run: note: {}\n", text));
    }
    LimitMemory(options.memory_bytes);
    if (options.check_file || options.check_models) return CheckFiles(options, flags.positional());
    options.inputs.insert(options.inputs.begin(), options.given_inputs.begin(),
                          options.given_inputs.end());
    if (!options.compare_stages.empty()) return CompareStages(options);
    if (WantsBenchTable(options)) return RunBenchTable(options);
    return RunModule(options, options.file);
  });
}

// By a name of XLA: the words of hlo-run, once for each file and iteration.
int MainByOldName(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]).starts_with("--help")) return Main(argc, argv);
  const absl::StatusOr<OldCommand> command =
      ReadOldCommand(argv[0], std::vector<std::string>(argv + 1, argv + argc));
  if (!command.ok()) {
    ReportToolError(argv[0], command.status());
    return kExitUsage;
  }
  return RunOldCommand(*command, [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"hlo-run"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> pointers;
    for (std::string& word : all) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return Main(static_cast<int>(all.size()), pointers.data());
  });
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) {
  return hlo::IsOldName(argv[0]) ? hlo::MainByOldName(argc, argv) : hlo::Main(argc, argv);
}
